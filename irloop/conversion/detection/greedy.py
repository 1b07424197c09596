"""Suppresses boxes greedily in an ONNX Loop, where NonMaxSuppression does not suffice.

A `Rule` defines how the overlap of two boxes is measured, and how it changes the scores of the
remaining boxes. Each iteration takes the best remaining box for every item and class at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irloop.conversion.detection import box_selection
from irloop.conversion.detection.scores import LOWEST, OUT, places
from irloop.conversion.framework.directions import Export
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder
from irloop.dialects.onnx import comparison
from irloop.dialects.onnx.search import ArgMax, ArgMax12, NonZero
from irloop.dialects.writing.sizes import Sizes
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["Rule", "greedy"]

F32 = ElementType.F32


@dataclass(frozen=True, slots=True)
class Rule:
    """Tells how a box that was selected changes the scores of the boxes that remain.

    N counts batch items, C classes, P boxes and F features of a box; L is 1 or C. `share` takes all
    boxes [N, L, P, F] and the selected boxes [N, C, 1, F], and returns their overlap [N, C, P].
    `update` takes the remaining scores [N, C, P], the overlap and the `states`; it returns the
    scores (minus infinity for a suppressed box) and the states of the next iteration.
    """

    share: Callable[[Export, Value, Value], Value]
    update: Callable[[OnnxLoopBuilder, Value, Value, Sequence[Value]], tuple[Value, list[Value]]]
    states: Sequence[Value] = ()


def greedy(
    c: Export, boxes: Value, scores: Value, limit: Value | None, rule: Rule
) -> tuple[Value, Value]:
    """Select boxes greedily; return the kept rows (item, class, box) [M, 3] and their scores.

    The rows of a class are ordered by score, the best first. `boxes` holds any F features of each
    of P boxes, [N, L, P, F], where L is 1 or C. `scores` [N, C, P] is f32, and minus infinity for
    boxes that are not candidates. At most `limit` boxes are kept for each item and class; `limit`
    is an i64 vector of one element, or None for no limit.
    """
    trips = Sizes(c).list([Sizes(c).of(boxes, 4)[2]])
    trips = trips if limit is None else c.minimum(trips, limit)
    # Run at least one iteration, because not every runtime knows the shape of a stack of zero
    # parts.
    trips = c.maximum(trips, c.i64([1]))
    # From [T, N, C, 1] to [N, C, T].
    chosen, worth = (
        c.transpose(c.squeeze(scan, [3]), [1, 2, 0])
        for scan in _stacked(c, boxes, scores, trips, rule)
    )
    kept = c.less(c.constant(LOWEST, F32), worth)
    if limit is not None:
        kept = c(comparison.And(), kept, c.less(c.i64([0]), limit))
    rows = c.transpose(c(NonZero(), kept), [1, 0])
    found = box_selection.Candidates(boxes, worth, chosen).origin(c, rows)
    return found, box_selection.read(c, worth, rows)


def _stacked(c: Export, boxes: Value, scores: Value, trips: Value, rule: Rule) -> tuple[Value, ...]:
    """Emit a Loop that takes the best box of each class in each iteration.

    Returns the positions of these boxes, [T, N, C, 1], and their scores. `rule` tells how a box
    that was taken changes the scores of the boxes that overlap it.
    """
    flat, first = box_selection.one_list(c, boxes), box_selection.first_places(c, boxes)
    place = places(c, Sizes(c).of(boxes, 4)[2])
    loop = OnnxLoopBuilder(c, "suppression")
    inner = loop.inner
    scored = loop.state(scores, scores.type, "scores")
    left = scored.parameter
    states = [loop.state(value, value.type, "state") for value in rule.states]
    kind = ArgMax12(axis=2) if c.opset >= 12 else ArgMax(axis=2)
    best, value = inner(kind, left), inner.reduce("Max", left, [2])
    index = inner.add(best, loop.capture(first))
    taken = inner.gather(loop.capture(flat), index, 0)
    share = rule.share(inner, loop.capture(boxes), taken)
    held = [state.parameter for state in states]
    left, held = rule.update(loop, left, inner.convert(share, F32), held)
    for state, following in zip(states, held, strict=True):
        state.result = following
    own = inner.equal(loop.capture(place), best)
    scored.result = left = inner.select(own, inner.constant(OUT, F32), left)
    most = inner.reduce("Max", left, [0, 1, 2], keep=False)
    # If all scores are minus infinity, runtimes return the lowest finite number as their maximum.
    more = inner.less(inner.constant(LOWEST, F32), most)
    start = c.constant(True, ElementType.BOOLEAN)
    trip = c.squeeze(trips, [0])
    stacked = loop.stacked(best), loop.stacked(value)
    made = loop.finish(trip, start, more)
    return tuple(made[output] for output in stacked)
