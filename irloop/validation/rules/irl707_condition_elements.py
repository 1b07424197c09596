"""IRL707: condition of an If is not one element."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule
from irloop.validation.scalar_edits import as_scalar


class ConditionElements(
    Rule,
    code="IRL707",
    severity=Severity.ERROR,
    title="condition of an If is not one element",
):
    """The condition of an If has more than one element, or a rank above 1.

    What it does:
        Checks the declared shape of input 0 of each If.
    Why is this bad:
        OpenVINO 2026.4 refuses rank 2 and constants of two elements; of other tensors it silently
        uses the first element.
    Bad example:
        a condition of shape [2]
    Good example:
        a scalar condition
    Fix:
        Reduce it to one element: ReduceLogicalAnd or ReduceLogicalOr.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per If whose condition has several elements or a rank above 1."""
        for index, layer, _ in context.branches:
            declared = context.operand(index, layer, 0)
            # Writers declare a size of 0 where they did not know the size.
            if not layer.inputs or ((declared.elements or 0) < 2 and (declared.rank or 0) < 2):
                continue
            yield self.found(
                at_port(layer, layer.inputs[0]),
                f"the condition of {describe(layer)} is not one element",
                expected="one element of rank 0 or 1",
                found=texts.show_dims(declared.dims),
                fix="reduce it to one element",
            )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Reshape a constant condition with one element to a scalar."""
        for index, layer, _ in context.branches:
            edits = as_scalar(index, layer, 0) if layer.inputs else ()
            if edits:
                place = at_port(layer, layer.inputs[0])
                yield self.repair(place, "the condition is a scalar", *edits)
