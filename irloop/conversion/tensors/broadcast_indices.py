"""Copies broadcast indices of scatters, which OpenVINO would take from before the Broadcast."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Maximum
from irloop.dialects.openvino.scatter import ScatterElementsUpdate
from irloop.hazards.scatters import scatters_by_a_broadcast
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["CopyBroadcastIndices"]


class CopyBroadcastIndices(MatcherPass):
    """Copies the indices of a ScatterElementsUpdate if they are the output of a Broadcast.

    Given::

        i = Broadcast(Const, shape)    y = ScatterElementsUpdate(x, i, u, 0)

    Result::

        i = Broadcast(Const, shape)    y = ScatterElementsUpdate(x, Maximum(i, i), u, 0)

    Hazard OVN165 is the reason.
    """

    name = "copy_broadcast_indices"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(ScatterElementsUpdate, where=producer_is(scatters_by_a_broadcast))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        indices = node.inputs[1]
        assert indices is not None  # the pattern has found its producer
        copy = Emitter(rewriter, node, node.name).emit(Maximum(), indices, indices)
        rewriter.set_input(node, 1, copy)
        return True
