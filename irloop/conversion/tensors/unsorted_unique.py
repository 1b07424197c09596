"""Gives unsorted Uniques an axis, because OpenVINO's CPU plugin miscomputes some without one."""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.search import Unique
from irloop.dialects.openvino.shape import Reshape
from irloop.graph.builder import element_of
from irloop.graph.types import ElementType
from irloop.hazards.uniques import groups_without_inverse
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["GroupAlongAnAxis"]


class GroupAlongAnAxis(MatcherPass):
    """Replaces an unsorted Unique of single elements by one along axis 0 of the flat data.

    Given::

        v, i, _, n = Unique(x)  {sorted=False}

    Result::

        f = Reshape(x, [-1])    v, i, _, n = Unique(f, 0)  {sorted=False}

    Elements of 8 bits are converted to i32 first, because OpenVINO compares them wrongly along an
    axis. Hazard OVN167 is the reason.
    """

    name = "group_along_an_axis"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Unique, where=producer_is(groups_without_inverse))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        data = node.inputs[0]
        assert data is not None
        element = element_of(data)
        is_narrow = element is not ElementType.DYNAMIC and element.bits <= 8
        emitter = Emitter(rewriter, node, node.name)
        wide = emitter.emit(Convert(ElementType.I32), data) if is_narrow else data
        flat = emitter.emit(Reshape(special_zero=False), wide, emitter.constant([-1]))
        axis = emitter.constant(0)
        name = f"{node.name}/Unique"
        made = rewriter.insert(node.op, (flat, axis), before=node, name=name, n_outputs=4)
        values, *others = made.outputs
        if is_narrow:
            values = emitter.emit(Convert(element), values)
        rewriter.replace_node(node, [values, *others])
        return True
