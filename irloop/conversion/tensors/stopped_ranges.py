"""Limits the end of each Range, because OpenVINO miscomputes ranges that should be empty.

A Range is empty if its step points away from its end, as in Range(5, 0, 1), but OpenVINO returns
elements. If the end is limited to be no less than the start, or no greater for a negative step,
OpenVINO returns an empty tensor, too.
"""

from __future__ import annotations

from irloop.dialects.openvino.comparison import Less, Select
from irloop.dialects.openvino.elementwise import Maximum, Minimum
from irloop.dialects.openvino.generate import Range, Range4
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.ranges import may_point_away
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["StopRangesAtTheirStart", "is_unlimited"]


class StopRangesAtTheirStart(MatcherPass):
    """Limits the end of a Range by its start.

    Given::

        y = Range(0, n, 1)

    Result::

        m = Maximum(n, 0)    y = Range(0, m, 1)

    For a negative step, the pass inserts a Minimum instead of the Maximum. For a step that is not
    constant, it inserts a Minimum, a Maximum, and a Select of the right one. Hazard OVN151 is the
    reason.
    """

    name = "stop_ranges_at_their_start"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type((Range, Range4), where=producer_is(is_unlimited))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        start, stop, step = (value for value in node.inputs if value is not None)
        emitter = Emitter(rewriter, node, node.name)
        own = step.producer.op
        if isinstance(own, Constant):
            falls = bool((own.tensor.numpy() < 0).any())
            limited = emitter.emit(Minimum() if falls else Maximum(), stop, start)
        else:
            falls_now = emitter.emit(Less(), step, emitter.constant(0, element_of(step)))
            ends = [emitter.emit(limit, stop, start) for limit in (Minimum(), Maximum())]
            limited = emitter.emit(Select(), falls_now, *ends)
        rewriter.set_input(node, 1, limited)
        return True


def is_unlimited(node: Node) -> bool:
    """Return whether the pass `StopRangesAtTheirStart` changes this node.

    It changes a Range only if start and stop have the same type and the type of the step is known.
    """
    if not may_point_away(node):
        return False
    kinds = [ElementType.DYNAMIC if value is None else element_of(value) for value in node.inputs]
    return ElementType.DYNAMIC not in kinds and kinds[0] == kinds[1]
