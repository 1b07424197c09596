"""OVN157: a Select of large integers with a computed condition."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.comparison import Select
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.large_integers import chooses_in_f32

__all__ = ["ChoiceOfLargeIntegers"]


class ChoiceOfLargeIntegers(
    Hazard,
    code="OVN157",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Select of integers with more than 24 bits by a computed condition",
    effect=Effect.WRONG,
    case="choice_of_large_integers",
    fix="Convert the condition to i32 and back to boolean before the Select.",
):
    """A Select of integers with more than 24 bits by a computed condition.

    What happens:
        The CPU plugin computes the Select together with the comparison or logical operation before
        it, in f32, whose numbers have 24 bits: Select(x > 0, 16777217, 0) returns 16777216.
    Where:
        The condition of a Select of i32, i64, u32 or u64 is computed elementwise, for example by a
        comparison, a LogicalAnd or an IsNaN. Logical operations of f32 or boolean inputs have the
        fault only in bodies. Sizes, positions and small constants are not affected.
    What irloop does:
        Conversion to IR converts the condition to i32 and back, which keeps the operations apart.
    """

    # Few models choose between such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = (Select,)

    def find(self, node: Node) -> Iterator[str]:
        if chooses_in_f32(node):
            element = element_of(node.output)
            yield f"Select {node.name!r} of {element} may need more than 24 bits"
