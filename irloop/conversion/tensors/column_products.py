"""Writes products with a vector as products with a column, to avoid a fault of ONNX Runtime.

The vector [n] becomes a matrix [n, 1], by an Unsqueeze before the MatMul, and a Squeeze removes the
added axis from the product. The fault is hazard ORT118: ONNX Runtime computes the product of a
transposed matrix and a vector without transposing the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.dialects.onnx.matmul import MatMul
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_nodes, has_op
from irloop.hazards.onnx_products import turns_before_a_vector
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["ColumnsForVectors"]


@dataclass(eq=False)
class ColumnsForVectors(ModelPass):
    """Multiplies a transposed matrix by a column instead of a vector.

    Given::

        y = MatMul(Transpose(A), b [n])

    Result::

        y = Squeeze(MatMul(Transpose(A), Unsqueeze(b, 1)), -1)

    Hazard ORT118 is the reason: ONNX Runtime would compute ``A @ b``.
    """

    name = "columns_for_vectors"
    dialects = frozenset({"onnx"})

    def run_on_model(self, model: Model) -> bool:
        if not has_op(model.graph, MatMul):
            return False
        session = Session(model)
        modified = False
        for node in list(all_nodes(model.graph)):
            assert node.graph is not None
            if turns_before_a_vector(node) and not self.transformation_callback(node):
                modified |= _rewritten(model, node, session.rewriter(node.graph))
        return modified


def _rewritten(model: Model, node: Node, rewriter: MatchRewriter) -> bool:
    left, right = node.inputs
    rank = None if left is None else shape_of(left).rank
    if left is None or right is None or rank is None:
        return False
    # Most models need no such change, nor the operations that it emits.
    from irloop.passes.forms import Forms

    forms = Forms(model, rewriter, node, node.name)
    product = forms.emit(node.op, left, forms.unsqueezed(right, 1))
    rewriter.replace_node(node, [forms.squeezed(product, rank - 1)])
    return True
