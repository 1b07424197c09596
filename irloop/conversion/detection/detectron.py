"""Converts Detectron's operations to ONNX, except the generation of proposals.

These are the grid of priors, the selection of the best regions, the features of regions, and the
detections. The module `proposal` converts the generation of proposals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from irloop.conversion.detection import box_selection
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.detection.greedy import Rule, greedy
from irloop.conversion.detection.scores import LOWEST, at_least, places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder
from irloop.dialects.onnx import comparison, elementwise, roi, scatter, search
from irloop.dialects.openvino import detectron as ov
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.ExperimentalDetectronPriorGridGenerator)
def export_grid(
    c: Export,
    op: ov.ExperimentalDetectronPriorGridGenerator,
    priors: Value,
    features: Value,
    image: Value,
) -> Value:
    """Write ExperimentalDetectronPriorGridGenerator: Add the priors to the centres of all cells.

    The attributes h and w set the size of the grid of cells, by default that of the feature map. If
    the two sizes differ, the list of boxes is cut or filled up with zeros: its length is always
    height * width of the feature map, times the number of priors.
    """
    sizes = Sizes(c)
    (height, width), (rows, columns) = (sizes.of(value, 4)[2:] for value in (features, image))
    own = (op.h or height, op.w or width)
    count = sizes.of(priors, 2)[0]
    down = _centres(c, own[0], rows, op.stride_y)
    along = _centres(c, own[1], columns, op.stride_x)
    x, y = c.reshape(along, [1, -1, 1, 1]), c.reshape(down, [-1, 1, 1, 1])
    boxes = c.add(c.convert(priors, F32), geometry.shifts(c, x, y))
    if own != (height, width):
        total = sizes.product([height, width, count])
        zeros = c.constant_of_shape(sizes.list([total, 4]), 0.0, F32)
        whole = c.concat([c.reshape(boxes, [-1, 4]), zeros], 0)
        boxes = c.slice_by(whole, c.i64([0]), sizes.list([total]), c.i64([0]))
    boxes = c.convert(boxes, element_of(priors))
    if op.flatten:
        return c.reshape(boxes, [-1, 4])
    return boxes if own == (height, width) else sizes.reshape(boxes, [height, width, count, 4])


def _centres(c: Export, count: Size, length: Size, stride: float) -> Value:
    """The centres of `count` cells of a feature map along an axis of the image, in pixels.

    Cells are `stride` pixels apart; if `stride` is 0, they divide the `length` of the image evenly.
    """
    middle = c.add(places(c, count, F32), c.constant(0.5, F32))
    if stride:
        return c.multiply(middle, c.constant(stride, F32))
    extent, parts = (
        c.constant(float(size), F32) if isinstance(size, int) else c.convert(size, F32)
        for size in (length, count)
    )
    return c.multiply(middle, c.divide(extent, parts))


@exports(ov.ExperimentalDetectronTopKROIs)
def export_best(
    c: Export, op: ov.ExperimentalDetectronTopKROIs, rois: Value, scores: Value
) -> Value:
    """Write ExperimentalDetectronTopKROIs as TopK and Gather; zeros fill up missing rows."""
    import numpy as np

    dims = shape_of(scores).dims
    if dims is not None and isinstance(dims[0], int) and dims[0] >= op.max_rois:
        _, order = c.topk(scores, c.i64([op.max_rois]), 0)
        return c.gather(rois, order, 0)
    count = c.minimum(c.shape_of(scores), c.i64([op.max_rois]))
    _, order = c.topk(scores, count, 0)
    zeros = c.constant(np.zeros((op.max_rois, 4)), element_of(rois))
    filled = c.concat([c.gather(rois, order, 0), zeros], 0)
    return c.slice(filled, [0], [op.max_rois], [0])


@exports(ov.ExperimentalDetectronROIFeatureExtractor)
def export_pyramid(
    c: Export, op: ov.ExperimentalDetectronROIFeatureExtractor, rois: Value, *maps: Value
) -> list[Value]:
    """Write ExperimentalDetectronROIFeatureExtractor with one RoiAlign for each feature map.

    From opset 11 on, each RoiAlign gets only the regions of its pyramid level. Opset 10 lacks
    ScatterND, so each RoiAlign gets all regions, and a Where selects the features of the right
    level.
    """
    if op.aligned and c.opset < 16:
        raise c.refuse("RoiAlign with half pixels needs ONNX opset 16 or later", opset=16)
    if c.opset < 10:
        raise c.refuse("RoiAlign needs ONNX opset 10 or later", opset=10)
    pyramid = list(zip(op.pyramid_scales, maps, strict=False))
    level = _level(c, rois, len(maps))
    read = _read_by_level if c.opset >= 11 else _read_all
    return [read(c, op, rois, level, pyramid), c.identity(rois)]


def _read_by_level(
    c: Export,
    op: ov.ExperimentalDetectronROIFeatureExtractor,
    rois: Value,
    level: Value,
    pyramid: Sequence[tuple[int, Value]],
) -> Value:
    """Return the features of each region, read from the feature map of its level.

    The features of a region without a level are 0. `level` holds the index into `pyramid` for each
    region, and `pyramid` the scale and the feature map of each level.
    """
    rows, parts = [], []
    for at, (scale, features) in enumerate(pyramid):
        own = c.equal(level, c.constant(float(at), F32))
        row = c.reshape(c(search.NonZero(), own), [-1])
        regions = c.gather(rois, row, 0)
        rows.append(row)
        parts.append(_regions(c, op, regions, features, scale))
    sizes = Sizes(c)
    count, channels = sizes.of(rois, 2)[0], sizes.of(pyramid[0][1], 4)[1]
    whole = sizes.list([count, channels, op.output_size, op.output_size])
    nothing = c.constant_of_shape(whole, 0, element_of(parts[0]))
    row = c.unsqueeze(c.concat(rows, 0), [1])
    write = scatter.ScatterND16() if c.opset >= 16 else scatter.ScatterND()
    return c(write, nothing, row, c.concat(parts, 0))


def _read_all(
    c: Export,
    op: ov.ExperimentalDetectronROIFeatureExtractor,
    rois: Value,
    level: Value,
    pyramid: Sequence[tuple[int, Value]],
) -> Value:
    """Return the features of each region, for opsets before 11.

    Every region is read from every feature map; the result from the map of its level is kept. The
    result and the parameters are those of `_read_by_level`, which needs opset 11.
    """
    places = c.reshape(level, [-1, 1, 1, 1])
    result: Value | None = None
    for number, (scale, features) in enumerate(pyramid):
        read = _regions(c, op, rois, features, scale)
        otherwise = c.scalar(0.0, read) if result is None else result
        own = c.equal(places, c.constant(float(number), F32))
        result = c.select(own, read, otherwise)
    assert result is not None, "there is at least one map"
    return result


def _regions(
    c: Export,
    op: ov.ExperimentalDetectronROIFeatureExtractor,
    rois: Value,
    features: Value,
    scale: float,
) -> Value:
    """Emit a RoiAlign that pools all regions from one feature map.

    `scale` is the size of a cell of the map, in pixels of the image.
    """
    items = c.constant_of_shape(c.sizes_of(rois, [0]), 0, I64)
    if op.aligned:
        # RoiAlign with half pixels does not enlarge regions to a cell of the map, `scale`.
        low, high = geometry.halves(c, rois)
        least = c.add(low, c.scalar(float(scale), rois))
        rois = c.concat([low, c.maximum(high, least)], 1)
    return c(_align(c, op, 1.0 / scale), features, rois, items)


def _align(
    c: Export, op: ov.ExperimentalDetectronROIFeatureExtractor, scale: float
) -> roi.RoiAlign10:
    attributes: dict[str, Any] = {
        "mode": "avg",
        "output_height": op.output_size,
        "output_width": op.output_size,
        "sampling_ratio": op.sampling_ratio,
        "spatial_scale": scale,
    }
    if c.opset < 16:
        return roi.RoiAlign10(**attributes)
    mode = "half_pixel" if op.aligned else "output_half_pixel"
    return roi.RoiAlign(**attributes, coordinate_transformation_mode=mode)


def _level(c: Export, rois: Value, count: int) -> Value:
    """The pyramid level of each region, [R] of f32; -1 for an empty region."""
    wide = c.convert(rois, ElementType.F32)
    size = c.subtract(c.slice(wide, [2], [4], [1]), c.slice(wide, [0], [2], [1]))
    area = c.reduce("Prod", size, [1])

    def number(value: float) -> Value:
        return c.scalar(value, area)

    side = c(elementwise.Sqrt(), c.maximum(area, number(0.0)))
    share = c.add(c.divide(side, number(224.0)), number(1e-6))
    power = c.divide(c(elementwise.Log(), share), number(math.log(2.0)))
    level = c(elementwise.Floor(), c.add(power, number(2.0)))
    level = c.maximum(c.minimum(level, number(count - 1.0)), number(0.0))
    solid = c.less(number(0.0), area)
    return c.reshape(c.select(solid, level, number(-1.0)), [-1])


@exports(ov.ExperimentalDetectronDetectionOutput)
def export_detections(
    c: Export,
    op: ov.ExperimentalDetectronDetectionOutput,
    rois: Value,
    moves: Value,
    scores: Value,
    image: Value,
) -> list[Value]:
    """Write the selection of boxes by NonMaxSuppression and of the best detections by TopK.

    The boxes of each class are decoded from the regions, and overlapping boxes of the same class
    are suppressed. If more than `max_detections_per_image` boxes remain, TopK keeps the boxes with
    the best scores. If a box is too narrow for NonMaxSuppression, a Loop suppresses all
    overlapping boxes instead.
    """
    box_selection.require_opset(c)
    regions = c.convert(rois, F32)
    # All regions are one item of a batch: each class has its own boxes [1, C, R, 4] and scores [1,
    # C, R].
    boxes = _decoded(c, op, regions, c.convert(moves, F32))
    low, high = geometry.halves(c, regions)
    solid = geometry.both(c, c.less(low, high))
    worth = c.transpose(c.convert(scores, F32), [1, 0])
    worth = c.unsqueeze(box_selection.dropped(c, worth, solid), [0])
    worth = box_selection.without_class(c, worth, Sizes(c).of(worth, 3)[1], 0)
    good = c.less(c.constant(op.score_threshold, F32), worth)
    rows = _suppressed(c, op, boxes, box_selection.dropped(c, worth, good))
    values = box_selection.read(c, worth, rows)
    order = _best_if_too_many(c, values, op.max_detections_per_image)
    rows, values = c.gather(rows, order, 0), c.gather(values, order, 0)
    label = box_selection.column(c, rows, 1)
    counts = c.sizes_of(rows, [0])
    most = op.max_detections_per_image
    corners = box_selection.dense(c, box_selection.read(c, boxes, rows), counts, most, width=4)
    names, worths = (
        c.squeeze(box_selection.dense(c, part, counts, most), [0])
        for part in (c.convert(label, F32), values)
    )
    return [
        c.convert(c.squeeze(corners, [0]), element_of(rois)),
        c.convert(names, ElementType.I32),
        c.convert(worths, element_of(scores)),
    ]


def _suppressed(
    c: Export,
    op: ov.ExperimentalDetectronDetectionOutput,
    boxes: Value,
    worth: Value,
) -> Value:
    """Emit the suppression of overlapping boxes; return the rows of the boxes that are kept.

    `worth` holds the score of each box. Which of two computations is right, a NonMaxSuppression or
    a Loop, depends on the data. Therefore the model contains both, and at run time only the right
    one gets candidates:

    - NonMaxSuppression, with borders added to the boxes, agrees with OpenVINO if all sides of the
      boxes with their borders are at least (1 + 1/t) / 2, where t is the overlap threshold.
    - The Loop is used if a candidate is narrower. As in OpenVINO, the overlap of two boxes includes
      their borders, but is 0 if the boxes do not touch, and corners in the wrong order are not
      swapped. NonMaxSuppression cannot do this.
    """
    threshold = op.nms_threshold
    least = (1 + 1 / threshold) / 2 if threshold > 0 else math.inf
    narrow = c.reduce("Min", geometry.extents(c, boxes, 1.0), [-1], keep=False)
    candidate = c.less(c.constant(LOWEST, F32), worth)
    near = c(comparison.And(), candidate, c.less(narrow, c.constant(least, F32)))
    number = c.reduce("Sum", c.convert(near, I64), [0, 1, 2], keep=False)
    exact = c.less(number, c.i64(1))
    plain = box_selection.dropped(c, worth, exact)
    rest = box_selection.dropped(c, worth, c.logical_not(exact))
    rows = box_selection.suppressed(
        c, geometry.with_border(c, boxes, 1.0), plain, threshold, limit=op.post_nms_count
    )
    limit = c.i64([op.post_nms_count]) if op.post_nms_count >= 0 else None
    others, _ = greedy(c, boxes, rest, limit, Rule(_overlap, partial(_update, threshold)))
    return c.concat([rows, others], 0)


def _overlap(c: Export, boxes: Value, taken: Value) -> Value:
    """Compute the intersection over union of `boxes` and selected boxes `taken`.

    Widths and heights are 1 larger than the difference of the coordinates. The result is 0 for
    boxes that do not touch. `boxes` [N, L, P, 4] and `taken` [N, C, 1, 4] give [N, C, P], where L
    is 1 or C.
    """
    share = geometry.overlap(c, boxes, taken, 1.0)
    return c.select(geometry.touching(c, boxes, taken), share, c.constant(0.0, F32))


def _update(
    threshold: float, loop: OnnxLoopBuilder, left: Value, share: Value, states: Sequence[Value]
) -> tuple[Value, list[Value]]:
    """Suppress the boxes that overlap the box just selected by more than `threshold`.

    This is the `update` of a `Rule` for greedy selection. `left` holds the scores of the remaining
    boxes, and `share` the overlap of each box with the selected one. Returns the scores, which are
    minus infinity for suppressed boxes, and an empty list, because this rule has no states.
    """
    inner = loop.inner
    kept = at_least(inner, inner.constant(threshold, F32), share)
    return box_selection.dropped(inner, left, kept), []


def _decoded(
    c: Export, op: ov.ExperimentalDetectronDetectionOutput, regions: Value, moves: Value
) -> Value:
    """Boxes [1, C, R, 4] of each class, from regions [R, 4] and offsets [R, C * 4]."""
    move = c.divide(c.reshape(moves, [0, -1, 4]), c.constant(op.deltas_weights, F32))
    boxes = geometry.refined(
        c, c.unsqueeze(regions, [1]), move, 1.0, ends=True, limit=op.max_delta_log_wh
    )
    boxes = c.maximum(boxes, c.constant(0.0, F32))
    return c.unsqueeze(c.transpose(boxes, [1, 0, 2]), [0])


def _best_if_too_many(c: Export, values: Value, limit: int) -> Value:
    """Return the indices of the `limit` rows with the best scores, the best first.

    If there are at most `limit` rows, all indices are returned in ascending order.
    """
    order = box_selection.ordered(c, values)
    count = c.sizes_of(order, [0])
    place = c.numbers_below(c.squeeze(count, [0]))
    many = c.less(c.i64([limit]), count)
    return c.slice(c.select(many, order, place), [0], [limit], [0])
