"""Keeps OpenVINO from moving strides through padded 1 x 1 convolutions."""

from __future__ import annotations

from irloop.dialects.openvino.convolution import Convolution, GroupConvolution
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.hazards.convolutions import pads_skipped_data
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["GroupPaddedConvolutions"]


class GroupPaddedConvolutions(MatcherPass):
    """Writes padded 1 x 1 convolutions with strides as group convolutions of one group.

    Given::

        y = Convolution(Relu(x), w [O, C, 1, 1], pads, strides)

    Result::

        y = GroupConvolution(Relu(x), Unsqueeze(w) [1, O, C, 1, 1], pads, strides)

    OpenVINO would move the strides before the padding, so y would have the wrong shape and wrong
    values (hazard OVN143).
    """

    name = "group_padded_convolutions"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Convolution, where=producer_is(pads_skipped_data))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        data, filters = node.inputs
        if data is None or filters is None or not isinstance(node.op, Convolution):
            return False
        op = node.op
        emitter = Emitter(rewriter, node, node.name)
        grouped = emitter.emit(Unsqueeze(), filters, emitter.constant([0]))
        convolution = GroupConvolution(
            op.strides, op.pads_begin, op.pads_end, op.dilations, op.auto_pad
        )
        rewriter.replace_node(node, [emitter.emit(convolution, data, grouped)])
        return True
