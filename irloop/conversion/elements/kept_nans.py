"""Keeps NaN in operations in which OpenVINO turns it into a number."""

from __future__ import annotations

from irloop.dialects.openvino.comparison import IsNaN, Select
from irloop.hazards.nans import LOSING, lost_nans
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["KeepNans"]


class KeepNans(MatcherPass):
    """Selects the NaN of a masked Softmax where Exp, ReLU, Clamp, ... would lose it.

    Given::

        s = Select(mask, x, Const -inf)    p = Softmax(s)    y = Exp(p)

    Result::

        s = Select(mask, x, Const -inf)    p = Softmax(s)    y = Select(IsNaN(p), p, Exp(p))

    Hazard OVN147 is the reason: Exp of NaN is inf in OpenVINO.
    """

    name = "keep_nans"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(LOSING, where=producer_is(lambda node: bool(lost_nans(node))))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        lost = lost_nans(node)
        emitter = Emitter(rewriter, node, node.name)
        inputs = [value for value in node.inputs if value is not None]
        kept = emitter.emit(node.op, *inputs)
        for value in lost:
            kept = emitter.emit(Select(), emitter.emit(IsNaN(), value), value, kept)
        rewriter.replace_node(node, [kept])
        return True
