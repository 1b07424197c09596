"""Turns a constant vector into a one-column matrix in products that OpenVINO refuses."""

from __future__ import annotations

from irloop.dialects.openvino import matmul
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.hazards.products import scales_a_vector_product
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["ColumnsForScaledVectors"]


class ColumnsForScaledVectors(MatcherPass):
    """Turns a constant vector into a column if a constant scales its product with a tensor.

    Given::

        y = Multiply(MatMul(x [B, M, n], Const [n]), Const)

    Result::

        y = Multiply(Squeeze(MatMul(x [B, M, n], Const [n, 1]), -1), Const)

    Hazard OVN138 is the reason: OpenVINO refuses the model.
    """

    name = "columns_for_scaled_vectors"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(matmul.MatMul, where=producer_is(scales_a_vector_product))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        left, right = node.inputs
        if left is None or right is None or not isinstance(node.op, matmul.MatMul):
            return False
        emitter = Emitter(rewriter, node, node.name)
        column = emitter.emit(Unsqueeze(), right, emitter.constant([1]))
        op = matmul.MatMul(transpose_a=node.op.transpose_a)
        product = emitter.emit(op, left, column)
        rewriter.replace_node(node, [emitter.emit(Squeeze(), product, emitter.constant([-1]))])
        return True
