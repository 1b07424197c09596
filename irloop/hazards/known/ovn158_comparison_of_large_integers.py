"""OVN158: comparisons of large integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.large_integers import COMPARISONS, is_compared_in_f32

__all__ = ["ComparisonOfLargeIntegers"]


class ComparisonOfLargeIntegers(
    Hazard,
    code="OVN158",
    engine="openvino",
    versions=("2026.4.1",),
    title="A comparison of two integers with more than 24 bits",
    effect=Effect.WRONG,
    case="comparison_of_large_integers",
    fix="Write Equal(a - b, 0) for Equal(a, b), and NotEqual(max(a, b) - a, 0) for Less(a, b).",
):
    """A comparison of two integers with more than 24 bits.

    What happens:
        The CPU plugin compares integers in f32, whose numbers have 24 bits: it takes 16777217 and
        16777216 for equal.
    Where:
        A comparison of i32, i64, u32 or u64, if both operands may need more than 24 bits: sizes,
        positions, small constants and numbers computed from them do not.
    What irloop does:
        Conversion to IR compares a difference of i32 or i64 with 0 instead. Numbers of u32 and u64
        are left as they are.
    """

    # Few models compare such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = COMPARISONS

    def find(self, node: Node) -> Iterator[str]:
        if is_compared_in_f32(node):
            yield f"both operands of {node.op.type} {node.name!r} may need more than 24 bits"
