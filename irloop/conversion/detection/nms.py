"""Converts non-maximum suppression.

A box whose overlap equals the threshold is suppressed in OpenVINO and kept in ONNX; a constant
threshold is moved to the next f32, so that both keep the same boxes. Soft suppression, which lowers
scores, is a Loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from irloop.conversion.detection import box_selection
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.detection.greedy import Rule, greedy
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder
from irloop.dialects.onnx import elementwise
from irloop.dialects.onnx import nms as onnx
from irloop.dialects.openvino import nms as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["listed", "scored_outputs"]

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.NonMaxSuppression1, ov.NonMaxSuppression3, ov.NonMaxSuppression4)
def export_indices(c: Export, op: ov.Suppressing, *inputs: Value | None) -> Value:
    """Write NonMaxSuppression, and sort the kept boxes by score if the operation requests it."""
    indices, _ = _ranked(c, op, *_exported(c, op, inputs))
    return c.convert(indices, op.index_type())


@exports(ov.NonMaxSuppression5, ov.NonMaxSuppression9)
def export_scored(c: Export, op: ov.Scored, *inputs: Value | None) -> list[Value]:
    """Write NonMaxSuppression, or a Loop if soft suppression is possible.

    With soft suppression (sigma above 0), overlapping boxes get lower scores instead of being
    removed. The results are the kept boxes, their scores and their number.
    """
    sigma = inputs[5] if len(inputs) > 5 else None
    known = None if sigma is None else c.constant_of(sigma)
    if sigma is None or (known is not None and known.reshape(-1)[0] <= 0):
        selected = _exported(c, op, inputs)
    else:
        selected = _softened(c, op, inputs, sigma)
    original = inputs[1]
    assert original is not None
    return scored_outputs(c, op, *selected, original)


class _Sorting(Protocol):
    @property
    def sort_result_descending(self) -> bool: ...


class _Scoring(_Sorting, Protocol):
    @property
    def output_type(self) -> ElementType: ...


def _ranked(c: Export, op: _Sorting, indices: Value, scores: Value) -> tuple[Value, Value]:
    """Sort the rows `indices` and their `scores` by score, highest first, if `op` requests it.

    Otherwise return them unchanged.
    """
    if not op.sort_result_descending:
        return indices, scores
    scores, order = c.topk(scores, c.sizes_of(scores, [0]), 0)
    return c.gather(indices, order, 0), scores


def scored_outputs(
    c: Export, op: _Scoring, indices: Value, scores: Value, original: Value
) -> list[Value]:
    """Emit the three outputs of an OpenVINO NonMaxSuppression from the boxes that were kept.

    They are rows (item, class, box), rows (item, class, score), and the number of rows. `indices`
    and `scores` describe the kept boxes. `original` is the input with all scores; the second output
    gets its element type.
    """
    indices, scores = _ranked(c, op, indices, scores)
    pairs = c.convert(c.slice(indices, [0], [2], [1]), F32)
    named = c.concat([pairs, c.unsqueeze(scores, [1])], 1)
    return [
        c.convert(indices, op.output_type),
        c.convert(named, element_of(original)),
        c.convert(c.sizes_of(indices, [0]), op.output_type),
    ]


def _exported(
    c: Export, op: ov.Suppressing, inputs: tuple[Value | None, ...]
) -> tuple[Value, Value]:
    """Emit ONNX's NonMaxSuppression; return the kept boxes and their scores [K] in f32.

    The kept boxes are rows [K, 3] of batch item, class and position of the box.
    """
    box_selection.require_opset(c)
    boxes, scores, limit, iou, threshold = (*inputs[:5], *(None,) * 5)[:5]
    assert boxes is not None
    assert scores is not None
    wide_scores = c.convert(scores, F32)
    limit = c.i64([0]) if limit is None else listed(c, limit, I64)
    limit, iou = _below(c, limit, iou)
    least = c.constant([0.0], F32) if threshold is None else listed(c, threshold, F32)
    target = onnx.NonMaxSuppression(int(op.centred()))
    found = c(target, c.convert(boxes, F32), wide_scores, limit, iou, least)
    return found, box_selection.read(c, wide_scores, found)


def _softened(
    c: Export, op: ov.Suppressing, inputs: tuple[Value | None, ...], sigma: Value
) -> tuple[Value, Value]:
    """Emit a Loop for a NonMaxSuppression with a sigma; return rows (item, class, box) and scores.

    There is one row for each of the K kept boxes: rows [K, 3], scores [K]. If sigma is above 0, a
    kept box lowers the scores of the boxes that overlap it, instead of removing these boxes.
    """
    box_selection.require_opset(c)
    boxes, scores, limit, iou, threshold = inputs[:5]
    assert boxes is not None
    assert scores is not None
    most = c.i64([0]) if limit is None else c.maximum(listed(c, limit, I64), c.i64([0]))
    share, least, width = (
        c.constant([0.0], F32) if value is None else listed(c, value, F32)
        for value in (iou, threshold, sigma)
    )
    tiny = c.constant([1e-30], F32)
    scale = c.divide(c.constant([-0.5], F32), c.maximum(width, tiny))
    soft = c.less(c.constant([0.0], F32), width)

    def update(
        loop: OnnxLoopBuilder, left: Value, overlap: Value, states: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        inner = loop.inner
        power = inner.multiply(inner.multiply(overlap, overlap), loop.capture(scale))
        lowered = inner.multiply(left, inner(elementwise.Exp(), power))
        good = inner.less(loop.capture(least), lowered)
        apart = inner.less(overlap, loop.capture(share))
        kept = inner.select(loop.capture(soft), good, apart)
        score = inner.select(loop.capture(soft), lowered, left)
        return box_selection.dropped(inner, score, kept), []

    wide = c.convert(scores, F32)
    given = box_selection.dropped(c, wide, c.less(least, wide))
    corners = c.unsqueeze(_corners(c, op, c.convert(boxes, F32)), [1])
    return greedy(c, corners, given, most, Rule(_overlap, update))


def _overlap(c: Export, boxes: Value, taken: Value) -> Value:
    return geometry.overlap(c, boxes, taken, 0.0)


def _corners(c: Export, op: ov.Suppressing, boxes: Value) -> Value:
    """Convert boxes [N, P, 4] to the form (lower corner, upper corner).

    `op` tells whether the boxes are given by any two opposite corners or by centre and size.
    """
    first, second = geometry.halves(c, boxes)
    if not op.centred():
        low, high = c.minimum(first, second), c.maximum(first, second)
        return c.concat([low, high], 2)
    half = c.multiply(second, c.constant(0.5, F32))
    return c.concat([c.subtract(first, half), c.add(first, half)], 2)


def listed(c: Export, value: Value, element: ElementType) -> Value:
    """A one-element vector of type `element` with the number in `value`."""
    return c.reshape(c.convert(value, element), [1])


def _below(c: Export, limit: Value, iou: Value | None) -> tuple[Value, Value]:
    """Convert two inputs of NonMaxSuppression from OpenVINO's meaning to ONNX's.

    `limit` is the maximum number of boxes per class, and `iou` the IoU threshold (None: 0). Returns
    both, adapted.

    OpenVINO suppresses a box if its overlap equals the threshold, but ONNX keeps it. Therefore, the
    threshold is lowered a little. With a threshold of 0, OpenVINO keeps at most one box. The limit
    is then lowered to at most 1.
    """
    import numpy as np

    known = np.zeros(1, np.float32) if iou is None else c.constant_of(iou)
    if known is None:
        assert iou is not None
        overlap = listed(c, iou, F32)
        none = c.less(overlap, c.constant([np.finfo(np.float32).tiny], F32))
        limit = c.select(none, c.minimum(limit, c.i64([1])), limit)
        return limit, c.multiply(overlap, c.constant([1.0 - 2.0**-23], F32))
    number = np.float32(known.reshape(-1)[0])
    if number > 0:
        return limit, c.constant([box_selection.just_below(float(number))], F32)
    # The threshold is 0 and every overlap is at least 0, so only one box is left.
    return c.minimum(limit, c.i64([1])), c.constant([0.0], F32)


@imports(onnx.NonMaxSuppression)
def import_suppression(
    c: Import,
    op: onnx.NonMaxSuppression,
    boxes: Value,
    scores: Value,
    limit: Value | None = None,
    iou: Value | None = None,
    threshold: Value | None = None,
) -> Value:
    """NonMaxSuppression -> NonMaxSuppression-5."""
    if c.opset < 5:
        raise c.refuse("NonMaxSuppression of opset4 gives a fixed number of rows", "write opset5")
    target = ov.NonMaxSuppression5(
        box_encoding="center" if op.center_point_box else "corner",
        sort_result_descending=False,
        output_type=I64,
    )
    if shape_of(boxes).dim(2) != 4:
        # OpenVINO's CPU plugin needs to know that a box has four coordinates.
        boxes = c.reshape(boxes, [0, -1, 4])
    lowest = c.constant(-3.4028234663852886e38, F32)
    node = c.emit(
        target,
        boxes,
        scores,
        c.i64(0) if limit is None else _single(c, limit, I64),
        _above(c, iou),
        lowest if threshold is None else _single(c, threshold, F32),
    )
    return node.outputs[0]


def _single(c: Import, value: Value, element: ElementType) -> Value:
    return c.reshape(c.convert(value, element), [1])


def _above(c: Import, iou: Value | None) -> Value:
    """Raise ONNX's overlap threshold to the next f32, so that OpenVINO keeps the same boxes.

    OpenVINO suppresses a box whose overlap equals the threshold, but ONNX keeps it. If `iou` is
    None, the ONNX threshold is 0.
    """
    import numpy as np

    known = np.zeros(1, np.float32) if iou is None else c.constant_of(iou)
    # The smallest positive number that no runtime rounds to 0.
    tiny = np.finfo(np.float32).tiny
    if known is None:
        assert iou is not None
        raised = c.multiply(_single(c, iou, F32), c.constant([1.0 + 2.0**-23], F32))
        return c.maximum(raised, c.constant([tiny], F32))
    number = np.float32(known.reshape(-1)[0])
    return c.constant(max(np.nextafter(number, np.float32(np.inf)), tiny), F32)
