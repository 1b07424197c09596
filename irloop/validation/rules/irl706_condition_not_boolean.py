"""IRL706: condition of an If is not boolean."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ConditionNotBoolean(
    Rule,
    code="IRL706",
    severity=Severity.WARNING,
    title="condition of an If is not boolean",
):
    """The condition of an If has an element type other than boolean.

    What it does:
        Checks the declared type of input 0 of each If.
    Why is this bad:
        OpenVINO 2026.4 accepts it and evaluates only the first byte: the f32 2.0 is false, the i32
        256 is false, the i32 2 is true. ONNX allows boolean only.
    Bad example:
        a condition of type f32
    Good example:
        a condition of type boolean
    Fix:
        Compare with zero: NotEqual gives a boolean.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per If whose condition has an element type other than boolean."""
        for index, layer, _ in context.branches:
            element = context.operand(index, layer, 0).element
            if not layer.inputs or element in (None, ElementType.BOOLEAN):
                continue
            yield self.found(
                at_port(layer, layer.inputs[0]),
                f"the condition of {describe(layer)} is {element}",
                expected="boolean",
                found=str(element),
                cause="OpenVINO would read only its first byte",
                fix="compare it with zero by NotEqual",
            )
