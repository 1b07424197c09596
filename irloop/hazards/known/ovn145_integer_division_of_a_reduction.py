"""OVN145: a division of integers after a reduction or a matrix product."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Divide
from irloop.graph.model import Node
from irloop.hazards.divisions import divided_inexactly
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["IntegerDivisionOfAReduction"]


class IntegerDivisionOfAReduction(
    Hazard,
    code="OVN145",
    engine="openvino",
    versions=("2026.4.1",),
    title="A division of integers after a reduction or a matrix product",
    effect=Effect.WRONG,
    case="integer_division_of_a_reduction",
    fix="Divide Maximum(y, y), where y is the reduction or the product.",
):
    """A division of integers after a reduction or a matrix product.

    What happens:
        The plugin computes the division in floating point, together with the reduction, and rounds
        the result to the nearest integer: 6 / 4 is 2. A constant divided by a sum is 0.
    Where:
        A Divide of integers, with a constant as one operand, follows a reduction or a MatMul of
        integers. Elementwise operations, reshapes and gathers may be between the two.
    What irloop does:
        Conversion to IR divides a copy of the reduction or product.
    """

    operations = (Divide,)

    def find(self, node: Node) -> Iterator[str]:
        for position in divided_inexactly(node):
            yield f"input {position} of {node.name!r} is computed from a reduction or a product"
