"""IRL501: TensorIterator or Loop without a body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BodyMissing(
    Rule, code="IRL501", severity=Severity.ERROR, title="TensorIterator or Loop without a body"
):
    """A TensorIterator or Loop has no body.

    What it does:
        Looks for `body` in each TensorIterator and Loop.
    Why is this bad:
        The loop has nothing to repeat. OpenVINO 2026.4 and 2021.4 refuse the file ("TensorIterator
        has no body.").
    Bad example:
        <layer id="3" name="loop" type="Loop" version="opset5"> with port_map and back_edges only
    Good example:
        the same with <body><layers>...</layers><edges>...</edges></body>
    Fix:
        Restore the body from the original model.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per TensorIterator or Loop that has no body."""
        for wiring in context.loops:
            if wiring.body is None:
                yield self.found(
                    at_layer(wiring.owner),
                    f"{describe(wiring.owner)} has no body",
                    expected="a body element",
                    found="none",
                    fix="restore the body from the original model",
                )
