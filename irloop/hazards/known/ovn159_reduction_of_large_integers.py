"""OVN159: reductions of large integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.reduction import (
    ReduceL1,
    ReduceL2,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
)
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.large_integers import is_reduced_in_f32

__all__ = ["ReductionOfLargeIntegers"]


class ReductionOfLargeIntegers(
    Hazard,
    code="OVN159",
    engine="openvino",
    versions=("2026.4.1",),
    title="A reduction of integers with more than 24 bits",
    effect=Effect.WRONG,
    case="reduction_of_large_integers",
    fix="Take the last of the running sums of CumSum for a sum, and TopK with k = 1 for a maximum.",
):
    """A reduction of integers with more than 24 bits.

    What happens:
        The CPU plugin reduces integers in f32, whose numbers have 24 bits: the maximum of 16777217
        and 5 is 16777216.
    Where:
        A reduction of i32, i64, u32 or u64, unless its data are known to be sizes, positions, small
        constants or numbers computed from them.
    What irloop does:
        Conversion to IR writes sums of i32 and i64 as running sums, and maxima and minima along
        axes of known sizes as TopK. Other reductions are left as they are.
    """

    # Few models reduce such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = (ReduceL1, ReduceL2, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum)

    def find(self, node: Node) -> Iterator[str]:
        if is_reduced_in_f32(node):
            element = element_of(node.output)
            yield f"{node.op.type} {node.name!r} of {element} may need more than 24 bits"
