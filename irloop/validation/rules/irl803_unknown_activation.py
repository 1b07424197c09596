"""IRL803: unknown activation."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.openvino.recurrent import ACTIVATIONS
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnknownActivation(
    Rule,
    code="IRL803",
    severity=Severity.ERROR,
    title="unknown activation",
):
    """A recurrent operation names an activation that OpenVINO does not have.

    What it does:
        Checks that `activations` of each recurrent cell and sequence lists only sigmoid, tanh, relu
        and hardsigmoid, in any letter case.
    Why is this bad:
        OpenVINO 2026.4 refuses the file (cells) or fails when it compiles the model (sequences).
    Bad example:
        activations="sigmoid,softsign,tanh"
    Good example:
        activations="sigmoid,tanh,tanh"
    Fix:
        Decompose the cell into elementary operations in a loop body.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per recurrent layer that names an activation unknown to OpenVINO."""
        for cell in recurrent.recurrent_layers(context):
            names = recurrent.activations(cell.layer)
            unknown = [name for name in names if name not in ACTIVATIONS]
            if unknown:
                yield self.found(
                    at_data(cell.layer, "activations"),
                    f"{describe(cell.layer)} has an unknown activation",
                    expected=", ".join(ACTIVATIONS),
                    found=", ".join(unknown),
                    fix="replace it by elementary operations in a loop body",
                )
