"""Converts MulticlassNms to ONNX: NonMaxSuppression, then sorting as in OpenVINO.

If the overlap threshold shrinks with each kept box (attribute nms_eta), a Loop replaces the
NonMaxSuppression.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.detection import box_selection, class_rows
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.detection.greedy import Rule, greedy
from irloop.conversion.detection.scores import at_least, places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder
from irloop.dialects.onnx import comparison
from irloop.dialects.openvino import multiclass_nms as ov
from irloop.dialects.writing.sizes import Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64

Multiclass = ov.MulticlassNms8 | ov.MulticlassNms


@exports(ov.MulticlassNms8, ov.MulticlassNms)
def export_multiclass(
    c: Export, op: Multiclass, boxes: Value, scores: Value, numbers: Value | None = None
) -> list[Value]:
    """Write MulticlassNms: suppress boxes of each class, and list the remaining boxes by score.

    NonMaxSuppression drops the boxes that overlap a better box of their class; if the threshold
    changes with each kept box (`nms_eta` below 1), a Loop does this. TopK sorts the boxes and
    limits their number, and Gather reads their coordinates.
    """
    box_selection.require_opset(c)
    sizes = Sizes(c)
    wide, worth = c.convert(boxes, F32), c.convert(scores, F32)
    if numbers is None:
        lists = c.unsqueeze(wide, [1])
    else:
        lists, worth = _segments(c, wide, worth, numbers)
    items, classes, _ = sizes.of(worth, 3)
    shown = box_selection.without_class(c, worth, classes, op.background_class)
    found = _kept(c, op, lists, shown)
    rows = class_rows.Rows(found, box_selection.read(c, worth, found), items)
    rows = class_rows.sorted_rows(c, op, rows, by_class=True)
    if numbers is None:
        flat = class_rows.flat_places(c, rows, wide)
    else:
        label, box = (box_selection.column(c, rows.found, at) for at in (1, 2))
        flat = c.add(c.multiply(box, sizes.list([classes])), label)
        wide = c.transpose(wide, [1, 0, 2])
    listed = c.reshape(wide, [-1, 4])
    return class_rows.outputs(c, op, rows, listed, flat, element_of(boxes))


def _segments(c: Export, boxes: Value, scores: Value, numbers: Value) -> tuple[Value, Value]:
    """Copy all boxes for each batch item, and exclude the boxes of other items by their scores.

    `boxes` [C, P, 4] and `scores` [C, P] hold the boxes of all items, one segment per item;
    `numbers` [N] holds the number of boxes in each segment. Returns boxes [N, C, P, 4] and scores
    [N, C, P]. For each item, the boxes of its own segment keep their scores, and all other boxes
    get minus infinity, so that they are never selected.
    """
    sizes = Sizes(c)
    counts = c.unsqueeze(c.as_i64(numbers), [1])
    first = c.unsqueeze(box_selection.starts(c, c.as_i64(numbers)), [1])
    place = places(c, sizes.of(scores, 2)[1])
    reached = at_least(c, place, first)
    inside = c(comparison.And(), reached, c.less(place, c.add(first, counts)))
    worth = box_selection.dropped(c, c.unsqueeze(scores, [0]), c.unsqueeze(inside, [1]))
    items = sizes.list([sizes.of(numbers, 1)[0], 1, 1, 1])
    return c.expand(c.unsqueeze(boxes, [0]), items), worth


def _kept(c: Export, op: Multiclass, boxes: Value, scores: Value) -> Value:
    """Choose the boxes to keep; return rows (item, class, box), sorted by item and class."""
    border = 0.0 if op.normalized else 1.0
    least = box_selection.just_below(op.score_threshold)
    if op.nms_eta < 1:
        good = c.less(c.constant(least, F32), scores)
        given = box_selection.dropped(c, scores, good)
        found = box_selection.candidates(c, boxes, given, op.nms_top_k)
        rows, _ = greedy(c, found.boxes, found.scores, None, _shrinking(c, op, found.scores))
        return found.origin(c, rows)
    bordered = geometry.unfolded(c, geometry.with_border(c, boxes, border))
    # A box whose overlap equals the threshold is suppressed: a threshold of 0 leaves one box per
    # class.
    every = op.iou_threshold <= 0
    return box_selection.suppressed(
        c,
        bordered,
        scores,
        0.0 if every else box_selection.just_below(op.iou_threshold),
        least=least,
        best=op.nms_top_k,
        limit=1 if every else -1,
    )


def _shrinking(c: Export, op: Multiclass, scores: Value) -> Rule:
    """Return the rule that suppresses overlapping boxes with a shrinking threshold.

    A box is suppressed if its overlap with a kept box reaches the threshold. The threshold starts
    at iou_threshold. Each time a box is kept, the threshold is multiplied by nms_eta, as long as it
    is above 0.5. This is for operations with an nms_eta below 1.
    """
    border = 0.0 if op.normalized else 1.0

    def share(inner: Export, boxes: Value, taken: Value) -> Value:
        return geometry.overlap(inner, boxes, taken, border)

    def update(
        loop: OnnxLoopBuilder, left: Value, share: Value, states: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        inner = loop.inner
        worst, threshold = inner.maximum(states[0], share), states[1]
        shrinks = inner.less(inner.constant(0.5, F32), threshold)
        smaller = inner.multiply(threshold, inner.constant(op.nms_eta, F32))
        threshold = inner.select(shrinks, smaller, threshold)
        left = box_selection.dropped(inner, left, inner.less(worst, threshold))
        return left, [worst, threshold]

    none = c.expand(c.constant(-1.0, F32), c.shape_of(scores))
    return Rule(share, update, [none, c.constant(op.iou_threshold, F32)])
