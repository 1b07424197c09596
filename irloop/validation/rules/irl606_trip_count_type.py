"""IRL606: trip count is not one integer."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule
from irloop.validation.scalar_edits import as_scalar

#: The element types with which OpenVINO compiles the loop.
_INTEGERS = (
    ElementType.I16,
    ElementType.I32,
    ElementType.I64,
    ElementType.U16,
    ElementType.U32,
    ElementType.U64,
)


class TripCountType(
    Rule,
    code="IRL606",
    severity=Severity.ERROR,
    title="trip count is not one integer",
):
    """The trip count of a Loop is not an integer of 16 bits or more, or has several elements.

    What it does:
        Checks the declared type of input 0 of each Loop.
    Why is this bad:
        OpenVINO 2026.4 refuses the model. If the trip count has rank 2 or is a constant of two
        elements, it does so when it reads the file, otherwise when it compiles the model.
    Bad example:
        a trip count that is f32, or i64 of shape [2]
    Good example:
        a trip count that is an i64 scalar
    Fix:
        Convert it to i64 and reshape it to a scalar.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each Loop whose trip count is not a single integer."""
        for wiring in context.loops:
            owner = wiring.owner
            if not wiring.is_loop or not owner.inputs:
                continue
            declared = context.external(wiring, 0)
            integer = declared.element in (None, *_INTEGERS)
            if integer and declared.elements in (None, 1) and (declared.rank or 0) < 2:
                continue
            yield self.found(
                at_port(owner, owner.inputs[0]),
                f"the trip count of {describe(owner)} is not one integer",
                expected="i64, with one element of rank 0 or 1",
                found=str(declared),
                fix="convert it to i64 and reshape it to a scalar",
            )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Reshape a constant trip count with one element to a scalar."""
        for wiring in context.loops:
            owner = wiring.owner
            edits = as_scalar(wiring.outer, owner, 0) if len(owner.inputs) > 0 else ()
            if wiring.is_loop and edits:
                place = at_port(owner, owner.inputs[0])
                yield self.repair(place, "the trip count is a scalar", *edits)
