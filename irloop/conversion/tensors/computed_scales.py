"""Rewrites constant weights that are multiplied by a computed scale (hazard OVN139).

Otherwise, OpenVINO's CPU plugin would treat the scale as a constant, and use that of an earlier
inference.
"""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.graph.builder import element_of
from irloop.graph.types import ElementType
from irloop.hazards.products import scaled_by_a_computed_value
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["ConvertScaledWeightsTwice"]

#: Narrow types with values that f16 cannot represent.
_WIDER = frozenset({ElementType.NF4, ElementType.F8E8M0})


class ConvertScaledWeightsTwice(MatcherPass):
    """Converts constant weights of 8 bits or fewer in two steps if their scale is computed.

    Given::

        w = Multiply(Convert(Const u8, f32), scale)    y = MatMul(x, w)

    Result::

        w = Multiply(Convert(Convert(Const u8, f16), f32), scale)    y = MatMul(x, w)

    Hazard OVN139 is the reason: y would be computed with the scale of an earlier inference.
    """

    name = "convert_scaled_weights_twice"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Convert, where=producer_is(scaled_by_a_computed_value))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node, weights = match.root, match.root.inputs[0]
        if weights is None or not isinstance(node.op, Convert):
            return False
        element = element_of(weights)
        is_wide = element in _WIDER or node.op.destination_type is ElementType.F16
        between = ElementType.F32 if is_wide else ElementType.F16
        if between is node.op.destination_type:
            return False
        emitter = Emitter(rewriter, node, node.name)
        halfway = emitter.emit(Convert(between), weights)
        rewriter.replace_node(node, [emitter.emit(node.op, halfway)])
        return True
