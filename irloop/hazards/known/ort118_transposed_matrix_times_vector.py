"""ORT118: a transposed matrix times a vector."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.matmul import MatMul
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.onnx_products import turns_before_a_vector

__all__ = ["TransposedMatrixTimesVector"]


class TransposedMatrixTimesVector(
    Hazard,
    code="ORT118",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A transposed matrix times a vector",
    effect=Effect.WRONG,
    case="transposed_matrix_times_vector",
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
