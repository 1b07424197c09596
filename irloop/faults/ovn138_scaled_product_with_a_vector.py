"""OVN138: a product with a constant vector, times a one-element constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import has_one_constant_element, is_computed
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import matmul
from irloop.dialects.openvino.elementwise import (
    Multiply,
)
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ScaledProductWithAVector"]


class ScaledProductWithAVector(
    Fault,
    code="OVN138",
    engine="openvino",
    title="A product with a constant vector, times a one-element constant",
    effect=Effect.REFUSAL,
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

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Turn a constant vector into a column if a constant scales its product with a tensor.

        Given::

            y = Multiply(MatMul(x [B, M, n], Const [n]), Const)

        Result::

            y = Multiply(Squeeze(MatMul(x [B, M, n], Const [n, 1]), -1), Const)

        OpenVINO refuses the model.
        """
        left, right = node.inputs
        if left is None or right is None or not isinstance(node.op, matmul.MatMul):
            return
        column = w(Unsqueeze(), right, w.constant([1]))
        op = matmul.MatMul(transpose_a=node.op.transpose_a)
        product = w(op, left, column)
        w.rewriter.replace_node(node, [w(Squeeze(), product, w.constant([-1]))])


def scales_a_vector_product(node: Node) -> bool:
    """Return whether `node` multiplies by a constant vector, and its result is then scaled.

    The node must be a MatMul whose second operand is a constant vector. The result is scaled if a
    Multiply by a one-element constant reads it. Returns False if the first operand is known to have
    rank 1 or 2.
    """
    if not isinstance(node.op, matmul.MatMul) or len(node.inputs) != 2:
        return False
    left, right = node.inputs
    if left is None or right is None or shape_of(right).rank != 1:
        return False
    if shape_of(left).rank in (1, 2) or is_computed(right):
        return False
    readers = [reader for reader, _ in node.output.uses if isinstance(reader.op, Multiply)]
    factors = [value for reader in readers for value in reader.inputs if value is not node.output]
    return any(has_one_constant_element(value) for value in factors)


@ScaledProductWithAVector.case(
    "scaled_product_with_a_vector",
    "IR: rare forms",
    "OpenVINO MatMul-1",
    "1D second operand is unsqueezed to 2D by adding an axis of size 1 to the right.",
    run([[[[1, 2]], [[3, 4]]]], [[[50], [110]]]),
)
def smallest() -> Model:
    m = IrModel()
    product = m(MatMul(), m.input("x", 2, 1, 2), m.constant([1, 2]))
    return m.done(m(Multiply(), product, m.constant(10)))
