"""Rewrites Pads whose pad value is computed: OpenVINO's CPU plugin reads this value too early."""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.padding import Pad, Pad12
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3
from irloop.graph.builder import element_of
from irloop.graph.types import ElementType
from irloop.hazards.pads import pads_with_a_computed_value
from irloop.passes.forms import Emitter, selected
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["SelectComputedPads"]


class SelectComputedPads(MatcherPass):
    """Replaces a Pad whose value is computed: pads with 0, then selects the value in the padding.

    Given::

        y = Pad(x, Const, Const, v)

    Result::

        zeros = Pad(x, Const, Const)    ones = Broadcast(1, ShapeOf(x))
        inside = Convert(Pad(ones, Const, Const), boolean)    y = Select(inside, zeros, v)

    OpenVINO's CPU plugin would read the value before it is computed (hazard OVN152).
    """

    name = "select_computed_pads"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type((Pad, Pad12), where=producer_is(pads_with_a_computed_value))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        data, begins, ends, fill = (value for value in node.inputs if value is not None)
        emitter = Emitter(rewriter, node, node.name)
        zero = emitter.constant(0, element_of(data))
        zeros = emitter.emit(node.op, data, begins, ends, zero)
        shape = emitter.emit(ShapeOf3(ElementType.I64), data)
        ones = emitter.emit(Broadcast3(), emitter.constant(1, ElementType.I32), shape)
        blank = emitter.constant(0, ElementType.I32)
        marks = emitter.emit(node.op, ones, begins, ends, blank)
        inside = emitter.emit(Convert(ElementType.BOOLEAN), marks)
        rewriter.replace_node(node, [selected(emitter.emit, inside, zeros, fill)])
        return True
