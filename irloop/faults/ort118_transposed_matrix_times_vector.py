"""ORT118: a transposed matrix times a vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.matmul import MatMul
from irloop.dialects.onnx.shape import Transpose
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Node

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["TransposedMatrixTimesVector"]


class TransposedMatrixTimesVector(
    Fault,
    code="ORT118",
    engine="onnxruntime",
    title="A transposed matrix times a vector",
    effect=Effect.WRONG,
    fix="Multiply by a column: MatMul(Transpose(A), Unsqueeze(b, 1)), and squeeze the result.",
):
    """A transposed matrix times a vector.

    What happens:
        The optimiser fuses Transpose and MatMul to a FusedMatMul, which ignores the transposition
        if the second operand is a vector: the result is A @ b, or the inference fails because the
        sizes of A and b do not match.
    Where:
        The first operand of a MatMul is a Transpose of the last two axes, or a Cast of such
        a Transpose, and the second operand has one dimension.
    What irloop does:
        Conversion to ONNX multiplies by a column, and removes its axis from the result.
    """

    operations = (MatMul,)

    def find(self, node: Node) -> Iterator[str]:
        if turns_before_a_vector(node):
            yield f"MatMul {node.name!r} multiplies a transposed matrix by a vector"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Multiply a transposed matrix by a column instead of a vector.

        Given::

            y = MatMul(Transpose(A), b [n])

        Result::

            y = Squeeze(MatMul(Transpose(A), Unsqueeze(b, 1)), -1)

        ONNX Runtime would compute ``A @ b``.
        """
        left, right = node.inputs
        rank = None if left is None else shape_of(left).rank
        if left is None or right is None or rank is None:
            return
        product = w(node.op, left, w.unsqueeze(right, [1]))
        w.rewriter.replace_node(node, [w.squeeze(product, [rank - 1])])


def turns_before_a_vector(node: Node) -> bool:
    """Return whether `node` is an ONNX MatMul of a transposed matrix and a vector.

    The first operand may also be a Cast of the Transpose.
    """
    if not isinstance(node.op, MatMul) or len(node.inputs) != 2:
        return False
    left, right = node.inputs
    if left is None or right is None or shape_of(right).rank != 1:
        return False
    producer = left.producer
    while isinstance(producer.op, Cast6) and producer.inputs[0] is not None:
        producer = producer.inputs[0].producer
    if not isinstance(producer.op, Transpose):
        return False
    rank = shape_of(producer.outputs[0]).rank
    if rank is None:
        return False
    perm = list(producer.op.perm or reversed(range(rank)))
    return perm == [*range(rank - 2), rank - 1, rank - 2]


@TransposedMatrixTimesVector.case(
    "transposed_matrix_times_vector",
    "ONNX: products",
    "ONNX MatMul-13",
    "Matrix product that behaves like numpy.matmul.",
    # The columns of a are [1, 3] and [2, 4].
    run([[[1, 2], [3, 4]], [1, 10]], [[31, 42]]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2, 2] a, float[2] b) => (float[2] y) {
  t = Transpose <perm = [1, 0]> (a)
  y = MatMul (t, b)
}""")
