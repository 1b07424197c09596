"""Keeps ONNX Runtime from fusing layer normalisations of data cast from f16 or bf16."""

from __future__ import annotations

from irloop.dialects.onnx.elementwise import Mul, Pow
from irloop.hazards.mixed_norms import squares_widened_data
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["SquareByProducts"]


class SquareByProducts(MatcherPass):
    """Squares the differences of a layer normalisation with Mul instead of Pow.

    Given::

        x = Cast(h f16, f32)    d = Sub(x, ReduceMean(x))    p = Pow(d, 2)

    Result::

        x = Cast(h f16, f32)    d = Sub(x, ReduceMean(x))    p = Mul(d, d)

    ONNX Runtime would fuse the operations of the first form to an invalid LayerNormalization
    (hazard ORT122). It does not fuse those of the second form.
    """

    name = "square_by_products"
    dialects = frozenset({"onnx"})

    def pattern(self) -> Pattern:
        return wrap_type(Pow, where=producer_is(squares_widened_data))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node, centred = match.root, match.root.inputs[0]
        assert centred is not None
        # Most models need no such change, nor the operations that it emits.
        from irloop.passes.forms import Emitter

        emitter = Emitter(rewriter, node, node.name)
        rewriter.replace_node(node, [emitter.emit(Mul(), centred, centred)])
        return True
