"""OVN138: a product with a constant vector, times a one-element constant."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.matmul import MatMul
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.products import scales_a_vector_product

__all__ = ["ScaledProductWithAVector"]


class ScaledProductWithAVector(
    Hazard,
    code="OVN138",
    engine="openvino",
    versions=("2026.4.1",),
    title="A product with a constant vector, times a one-element constant",
    effect=Effect.REFUSAL,
    case="scaled_product_with_a_vector",
    fix="Multiply by a constant column instead of a vector, and squeeze the result.",
):
    """A product with a constant vector, times a one-element constant.

    What happens:
        The transformation MatMulMultiplyFusion multiplies the vector by a constant of shape [1, 1,
        1], which makes the vector a tensor of three dimensions, and then refuses the sizes of this
        tensor.
    Where:
        The second operand of a MatMul is a constant vector, the first has three dimensions or more,
        and a Multiply by a one-element constant reads the result.
    What irloop does:
        Conversion to IR multiplies by a column, and removes its axis from the result.
    """

    operations = (MatMul,)

    def find(self, node: Node) -> Iterator[str]:
        if scales_a_vector_product(node):
            yield f"MatMul {node.name!r} multiplies by a constant vector, and a Multiply follows"
