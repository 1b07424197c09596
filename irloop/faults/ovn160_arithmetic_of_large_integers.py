"""OVN160: arithmetic of large integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.bounds import EXACT
from irloop.analysis.ranges import may_be_large
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import Clamp, ReLU
from irloop.dialects.openvino.elementwise import (
    Power,
)
from irloop.dialects.openvino.matmul import MatMul
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ArithmeticOfLargeIntegers"]


class ArithmeticOfLargeIntegers(
    Fault,
    code="OVN160",
    engine="openvino",
    title="Clamp, MatMul, Power and ReLU of integers with more than 24 bits",
    effect=Effect.WRONG,
    fix="Write Maximum(x, 0) for ReLU(x), and products for powers with a constant exponent.",
):
    """Clamp, MatMul, Power and ReLU of integers with more than 24 bits.

    What happens:
        The CPU plugin computes these operations in f32, whose numbers have 24 bits: ReLU returns
        16777216 for 16777217. It also computes Minimum(Maximum(x, a), b) with constants a and b as
        a Clamp.
    Where:
        The operands are i32, i64, u32 or u64, unless they are known to be sizes, positions, small
        constants or numbers computed from them. A Clamp is affected if one of its bounds has more
        than 24 bits.
    What irloop does:
        Nothing: the operations are left as they are.
    """

    # Few models compute with such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = (Clamp, MatMul, Power, ReLU)

    def find(self, node: Node) -> Iterator[str]:
        if is_computed_in_f32(node):
            element = element_of(node.output)
            yield f"{node.op.type} {node.name!r} of {element} may need more than 24 bits"


def is_computed_in_f32(node: Node) -> bool:
    """Return whether `node` is a Clamp, MatMul, Power or ReLU of integers that may need more than
    24 bits.
    """
    if not isinstance(node.op, Clamp | MatMul | Power | ReLU) or None in node.inputs:
        return False
    if isinstance(node.op, Clamp) and max(abs(node.op.min), abs(node.op.max)) < EXACT:
        return False
    return any(may_be_large(value) for value in node.inputs if value is not None)


@ArithmeticOfLargeIntegers.case(
    "arithmetic_of_large_integers",
    "IR: rare forms",
    "OpenVINO ReLU-1",
    "The larger one of each element and 0, and the square of each element.",
    run([[3, -2]], [[3, 0], [9, 4]]),
    # 4097 * 4097 = 16785409
    run([[4097, -4097]], [[4097, 0], [16785409, 16785409]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None, element=ElementType.I32)
    return m.done(m(ReLU(), x), m(Power(), x, m.constant(2, ElementType.I32)))
