"""OVN160: arithmetic of large integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.activation import Clamp, ReLU
from irloop.dialects.openvino.elementwise import Power
from irloop.dialects.openvino.matmul import MatMul
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.large_integers import is_computed_in_f32

__all__ = ["ArithmeticOfLargeIntegers"]


class ArithmeticOfLargeIntegers(
    Hazard,
    code="OVN160",
    engine="openvino",
    versions=("2026.4.1",),
    title="Clamp, MatMul, Power and ReLU of integers with more than 24 bits",
    effect=Effect.WRONG,
    case="arithmetic_of_large_integers",
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
