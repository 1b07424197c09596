"""IRL604: loop condition is not one boolean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.places import at_layer, at_port, describe
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.declared import Declared
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule
from irloop.validation.scalar_edits import as_scalar

#: The element types that OpenVINO takes for booleans here.
_AS_BOOLEAN = (ElementType.U8, ElementType.U4)


class ConditionType(
    Rule,
    code="IRL604",
    severity=Severity.ERROR,
    title="loop condition is not one boolean",
):
    """The condition of a Loop is not boolean, or not exactly one element.

    What it does:
        Checks that the declared types of input 1 of each Loop and of the body Result that is the
        execution condition are boolean, of rank 0 or 1, with one element.
    Why is this bad:
        OpenVINO 2026.4 refuses it when it compiles the model, and a constant of two elements
        already when it reads the file. ONNX Runtime needs a scalar. A u8 or u4 is only a warning,
        since OpenVINO takes it for a boolean.
    Bad example:
        a condition Result fed by an f32 value, or by a boolean of shape [2]
    Good example:
        a condition Result fed by a boolean scalar
    Fix:
        Compare with a number (Greater, NotEqual) and reduce to one element.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each condition of a Loop that is not one boolean.

        A Loop has two conditions: its input 1 is the initial condition, and a Result of its body is
        the condition for the next iteration.
        """
        for wiring in context.loops:
            if not wiring.is_loop:
                continue
            owner = wiring.owner
            if len(owner.inputs) > 1:
                outer = context.external(wiring, 1)
                yield from self._condition(at_port(owner, owner.inputs[1]), owner, outer)
            entry = wiring.condition
            if entry is None or entry.inner is None or entry.inner.type != "Result":
                continue
            inner = context.result(wiring, entry.inner)
            yield from self._condition(at_layer(entry.inner), owner, inner)

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Reshape a constant initial condition with one element to a scalar."""
        for wiring in context.loops:
            owner = wiring.owner
            edits = as_scalar(wiring.outer, owner, 1) if len(owner.inputs) > 1 else ()
            if wiring.is_loop and edits:
                place = at_port(owner, owner.inputs[1])
                yield self.repair(place, "the condition is a scalar", *edits)

    def _condition(self, place: Location, owner: Layer, declared: Declared) -> Iterator[Diagnostic]:
        wrong_type = declared.element not in (None, ElementType.BOOLEAN)
        wrong_shape = declared.elements not in (None, 1) or (declared.rank or 0) > 1
        if wrong_type or wrong_shape:
            finding = self.found(
                place,
                f"the condition of {describe(owner)} is not one boolean",
                expected="boolean[] or boolean[1]",
                found=str(declared),
                fix="reduce it to one boolean element",
            )
            if declared.element in _AS_BOOLEAN and not wrong_shape:
                finding = replace(finding, severity=Severity.WARNING)
            yield finding
