"""IRL804: activation that the CPU plugin cannot run."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ActivationOnCpu(
    Rule,
    code="IRL804",
    severity=Severity.WARNING,
    title="activation that the CPU plugin cannot run",
):
    """A recurrent operation uses hardsigmoid.

    What it does:
        Looks for hardsigmoid among the activations of recurrent cells and sequences.
    Why is this bad:
        The specification allows it. The CPU plugin of OpenVINO 2026.4 fails when it compiles the
        model ("Unsupported activation function").
    Bad example:
        activations="hardsigmoid,tanh,tanh"
    Good example:
        activations="sigmoid,tanh,tanh"
    Fix:
        Decompose the cell into elementary operations in a loop body.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per recurrent layer that has hardsigmoid among its activations."""
        for cell in recurrent.recurrent_layers(context):
            if "hardsigmoid" in recurrent.activations(cell.layer):
                yield self.found(
                    at_data(cell.layer, "activations"),
                    f"{describe(cell.layer)} uses hardsigmoid, which the CPU plugin cannot run",
                    expected="sigmoid, tanh or relu",
                    found=cell.layer.data["activations"],
                    fix="replace it by elementary operations in a loop body",
                )
