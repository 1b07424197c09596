"""Replaces constants of one element that have more dimensions than the other operand.

The constant becomes a scalar, and an Unsqueeze adds its dimensions to the result, because
OpenVINO's CPU plugin would lose them.
"""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Arithmetic
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.graph.builder import element_of, shape_of
from irloop.hazards.plugin import brings_dimensions
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["NarrowOneElementConstants"]


class NarrowOneElementConstants(MatcherPass):
    """Uses Unsqueeze for dimensions that a result has only because of a one-element constant.

    Given::

        p [] = Gather(x [3], 0)    y [1] = Add(p, Const [1])

    Result::

        p [] = Gather(x [3], 0)    q [] = Add(p, Const [])    y [1] = Unsqueeze(q, 0)

    Hazard OVN126 is the reason.
    """

    name = "narrow_one_element_constants"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Arithmetic, where=producer_is(brings_dimensions))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        left, right = node.inputs
        assert left is not None
        assert right is not None
        known = rewriter.inference.constant(right)
        rank, more = shape_of(left).rank, shape_of(right).rank
        if known is None or rank is None or more is None:
            return False
        emitter = Emitter(rewriter, node, node.name)
        number = emitter.constant(known.reshape(()), element_of(right))
        made = emitter.emit(node.op, left, number)
        axes = emitter.constant(range(more - rank))
        rewriter.replace_node(node, [emitter.emit(Unsqueeze(), made, axes)])
        return True
