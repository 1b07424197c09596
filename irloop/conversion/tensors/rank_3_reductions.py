"""Adds an axis to reductions of rank 3 that OpenVINO's CPU plugin would compute wrongly."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects.openvino.reduction import Reduction
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.graph.model import Node
from irloop.hazards.plugin import reduced_wrongly
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["WidenRank3Reductions", "is_reduced_wrongly"]


class WidenRank3Reductions(MatcherPass):
    """Adds an axis of size 1 to a reduction of rank 3 whose result meets a constant in arithmetic.

    Given::

        y [N, C] = ReduceSum(x [N, C, L], 2)    z = Add(y, Const [1, C])

    Result::

        w [N, C, 1, L] = Unsqueeze(x, 2)    y = ReduceSum(w, [2, 3])    z = Add(y, Const [1, C])

    The new axis is reduced, too. If the reduction keeps its axis, an Unsqueeze restores it. Hazard
    OVN140 is the reason.
    """

    name = "widen_rank_3_reductions"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Reduction, where=producer_is(is_reduced_wrongly))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node, axis = match.root, reduced_wrongly(match.root)
        op, data = node.op, node.inputs[0]
        if axis is None or data is None or not isinstance(op, Reduction):
            return False
        emitter = Emitter(rewriter, node, node.name)
        place = emitter.constant([axis])
        wide = emitter.emit(Unsqueeze(), data, place)
        made = emitter.emit(replace(op, keep_dims=False), wide, emitter.constant([axis, axis + 1]))
        if op.keep_dims:
            made = emitter.emit(Unsqueeze(), made, place)
        rewriter.replace_node(node, [made])
        return True


def is_reduced_wrongly(node: Node) -> bool:
    """True for a reduction that the pass `WidenRank3Reductions` rewrites."""
    return reduced_wrongly(node) is not None
