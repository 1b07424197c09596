"""OVN161: constants and right shifts of u32 from 2^31 on."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.ranges import MOST_ELEMENTS, bounds_of
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import (
    BitwiseRightShift,
)
from irloop.dialects.openvino.elementwise import (
    Add,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

__all__ = ["UnsignedIntegersFrom2To31On"]


class UnsignedIntegersFrom2To31On(
    Fault,
    code="OVN161",
    engine="openvino",
    title="A constant or a right shift of u32 from 2^31 on",
    effect=Effect.WRONG,
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
        op, largest = node.op, bounds_of(node.output).high
        if isinstance(op, Constant) and op.tensor.count <= MOST_ELEMENTS and largest >= 2**31:
            yield f"the constant {node.name!r} contains {largest}"


@UnsignedIntegersFrom2To31On.case(
    "unsigned_integers_from_2_31_on",
    "IR: rare forms",
    "OpenVINO BitwiseRightShift-15",
    "Each element shifted right by 4 bits, and the sum of each element and 2^31.",
    run([[32, 7]], [[2, 0], [2147483680, 2147483655]]),
    # 2^31 + 16 over 16 is 2^27 + 1, and the sum wraps.
    run([[2147483664, 7]], [[134217729, 0], [16, 2147483655]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None, element=ElementType.U32)
    shifted = m(BitwiseRightShift(), x, m.constant(4, ElementType.U32))
    return m.done(shifted, m(Add(), x, m.constant(2**31, ElementType.U32)))
