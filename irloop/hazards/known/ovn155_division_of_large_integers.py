"""OVN155: divisions of large integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Divide, FloorMod, Mod
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.large_integers import is_divided_in_f32

__all__ = ["DivisionOfLargeIntegers"]


class DivisionOfLargeIntegers(
    Hazard,
    code="OVN155",
    engine="openvino",
    versions=("2026.4.1",),
    title="Divide, Mod and FloorMod of integers with more than 24 bits",
    effect=Effect.WRONG,
    case="division_of_large_integers",
    fix="With q = Divide(a, b), write FloorMod(a - q * b, b) for FloorMod(a, b).",
):
    """Divide, Mod and FloorMod of integers with more than 24 bits.

    What happens:
        The CPU plugin computes the quotient in f32, whose numbers have 24 bits: 875362016 modulo
        6968 is 64 instead of 48. Sums, differences and products are exact up to 32 bits.
    Where:
        Divide, Mod or FloorMod of i32, i64, u32 or u64, unless the operands are known to be sizes,
        positions, small constants or numbers computed from them.
    What irloop does:
        Conversion to IR corrects quotients and remainders of i32 and i64 by exact differences and
        products. Numbers of u32 and u64 are left as they are.
    """

    # Few models divide such numbers, and from IR to ONNX the quotients become exact.
    concerns_conversion = False
    operations = (Divide, FloorMod, Mod)

    def find(self, node: Node) -> Iterator[str]:
        if is_divided_in_f32(node):
            element = element_of(node.output)
            yield f"{node.op.type} {node.name!r} of {element} may need more than 24 bits"
