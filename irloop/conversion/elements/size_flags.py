"""Compares sizes with zero where OpenVINO would ignore that they become booleans."""

from __future__ import annotations

from irloop.dialects.openvino.comparison import NotEqual
from irloop.dialects.openvino.convert import Convert
from irloop.graph.builder import element_of
from irloop.hazards.sizes import flags_a_size
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["CompareSizesWithZero"]


class CompareSizesWithZero(MatcherPass):
    """Compares a size with 0 instead of converting it to boolean, if a number is made of that.

    Given::

        n = Gather(ShapeOf(x), 0, 0)    b = Convert(n, boolean)    y = Convert(b, i64)

    Result::

        n = Gather(ShapeOf(x), 0, 0)    b = NotEqual(n, Const 0)    y = Convert(b, i64)

    Hazard OVN144 is the reason.
    """

    name = "compare_sizes_with_zero"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Convert, where=producer_is(flags_a_size))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        size = node.inputs[0]
        if size is None:
            return False
        emitter = Emitter(rewriter, node, node.name)
        zero = emitter.constant(0, element_of(size))
        rewriter.replace_node(node, [emitter.emit(NotEqual(), size, zero)])
        return True
