"""OVN161: constants and right shifts of u32 from 2^31 on."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.comparison import BitwiseRightShift
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.large_integers import largest_constant

__all__ = ["UnsignedIntegersFrom2To31On"]


class UnsignedIntegersFrom2To31On(
    Hazard,
    code="OVN161",
    engine="openvino",
    versions=("2026.4.1",),
    title="A constant or a right shift of u32 from 2^31 on",
    effect=Effect.WRONG,
    case="unsigned_integers_from_2_31_on",
    fix="Compute in i32, which has the same bits, and convert the result to u32.",
):
    """A constant or a right shift of u32 from 2^31 on.

    What happens:
        The CPU plugin computes u32 as i32. It replaces constants from 2^31 on by 2^31 - 1, and a
        BitwiseRightShift of such numbers fills in ones instead of zeros. Sums, differences,
        products, left shifts and bitwise operations of other values are right.
    Where:
        A constant of u32 contains a number of at least 2^31, or a BitwiseRightShift shifts u32.
    What irloop does:
        Conversion from ONNX to IR writes a shift in i32. Constants, and the shifts of an
        IR, are left as they are.
    """

    # Few models have such numbers, and from IR to ONNX the result becomes right.
    concerns_conversion = False
    operations = (BitwiseRightShift, Constant)

    def find(self, node: Node) -> Iterator[str]:
        if not node.outputs or element_of(node.output) is not ElementType.U32:
            return
        if isinstance(node.op, BitwiseRightShift):
            yield f"{node.name!r} shifts u32 to the right"
            return
        largest = largest_constant(node.output)
        if largest is not None and largest >= 2**31:
            yield f"the constant {node.name!r} contains {largest}"
