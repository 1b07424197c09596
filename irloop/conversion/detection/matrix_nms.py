"""Converts MatrixNms to ONNX operations that compare all pairs of boxes of a class at once."""

from __future__ import annotations

from irloop.conversion.detection import box_selection, class_rows
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.detection.scores import LOWEST, places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import elementwise
from irloop.dialects.onnx.search import NonZero
from irloop.dialects.openvino import multiclass_nms as ov
from irloop.dialects.writing.sizes import Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.MatrixNms)
def export_matrix_nms(c: Export, op: ov.MatrixNms, boxes: Value, scores: Value) -> list[Value]:
    """Write MatrixNms: lower the score of each box by its overlaps with better boxes.

    TopK selects the candidates of each class. A table holds the overlap of each pair of them, from
    which a decay factor for each pair is computed; the smallest factor of a box (ReduceMin) lowers
    its score. Another TopK sorts the boxes whose scores are still high enough.
    """
    box_selection.require_opset(c)
    sizes = Sizes(c)
    wide, worth = c.convert(boxes, F32), c.convert(scores, F32)
    items, classes, _ = sizes.of(worth, 3)
    good = c.less(c.constant(op.score_threshold, F32), worth)
    worth = box_selection.dropped(c, worth, good)
    worth = box_selection.without_class(c, worth, classes, op.background_class)
    values, index = c.topk(worth, _most(c, worth, op.nms_top_k), 2)
    chosen = box_selection.members(c, c.unsqueeze(wide, [1]), index)
    lowered = c.multiply(values, _decay(c, op, chosen))
    left = c.less(c.constant(max(op.post_threshold, LOWEST), F32), lowered)
    places = c.transpose(c(NonZero(), left), [1, 0])
    found = box_selection.Candidates(chosen, lowered, index).origin(c, places)
    rows = class_rows.Rows(found, box_selection.read(c, lowered, places), items)
    rows = class_rows.sorted_rows(c, op, rows, by_class=False)
    flat = class_rows.flat_places(c, rows, wide)
    listed = c.reshape(wide, [-1, 4])
    return class_rows.outputs(c, op, rows, listed, flat, element_of(boxes))


def _most(c: Export, worth: Value, best: int) -> Value:
    """Emit, as a vector [1], the largest number of candidates in any class of any batch item.

    A candidate is a box whose score in `worth` [N, C, boxes] is above `LOWEST`. The result is
    limited to `best`, unless this is negative, and is at least 1.
    """
    candidate = c.less(c.constant(LOWEST, F32), worth)
    counts = c.reduce("Sum", c.convert(candidate, I64), [2])
    most = c.reshape(c.reduce("Max", counts, [0, 1]), [1])
    most = most if best < 0 else c.minimum(most, c.i64([best]))
    return c.maximum(most, c.i64([1]))


def _decay(c: Export, op: ov.MatrixNms, boxes: Value) -> Value:
    """Compute the factor that lowers the score of each box because of boxes with higher scores.

    `boxes` are [N, C, K, 4], sorted by descending score.
    """
    border = 0.0 if op.normalized else 1.0
    own, others = c.unsqueeze(boxes, [3]), c.unsqueeze(boxes, [2])
    share = geometry.overlap(c, own, others, border)
    zero, one = c.constant(0.0, F32), c.constant(1.0, F32)
    if border:
        # The border makes boxes wider, but boxes that do not touch must not overlap.
        share = c.select(geometry.touching(c, own, others), share, zero)
    place = places(c, Sizes(c).of(boxes, 4)[2])
    better = c.less(place, c.unsqueeze(place, [1]))
    most = c.reduce("Max", c.select(better, share, zero), [3], keep=False)
    most = c.unsqueeze(most, [2])
    if op.decay_function.lower() == "gaussian":
        power = c.subtract(c.multiply(most, most), c.multiply(share, share))
        factor = c(elementwise.Exp(), c.multiply(power, c.constant(op.gaussian_sigma, F32)))
    else:
        rest = c.add(c.subtract(one, most), c.constant(1e-10, F32))
        factor = c.divide(c.subtract(one, share), rest)
    return c.reduce("Min", c.select(better, factor, one), [3], keep=False)
