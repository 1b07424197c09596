"""Converts NMSRotated to ONNX: each iteration of a Loop keeps a box and suppresses its neighbours.

A box is nine f64 numbers: the x of its corners in order, their y, and its area.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.detection import box_selection
from irloop.conversion.detection.greedy import Rule, greedy
from irloop.conversion.detection.nms import listed, scored_outputs
from irloop.conversion.detection.scores import at_least
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.onnx.gather import GatherElements
from irloop.dialects.openvino import nms as ov
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, F64, I64 = ElementType.F32, ElementType.F64, ElementType.I64

#: The number of points: the corners of both boxes, and the crossings of their sides.
_POINTS = 4 + 4 + 16

#: The x and the y of points or directions, which broadcast.
Pair = tuple[Value, Value]


@exports(ov.NMSRotated)
def export_rotated(
    c: Export,
    op: ov.NMSRotated,
    boxes: Value,
    scores: Value,
    limit: Value,
    iou: Value,
    threshold: Value,
) -> list[Value]:
    """Write NMSRotated as a Loop; each iteration keeps the best remaining box of each class."""
    box_selection.require_opset(c)
    most = c.maximum(listed(c, limit, I64), c.i64([0]))
    share, least = (listed(c, value, F32) for value in (iou, threshold))

    def update(
        loop: OnnxLoopBuilder, left: Value, overlap: Value, states: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        far = at_least(loop.inner, loop.capture(share), overlap)
        return box_selection.dropped(loop.inner, left, far), []

    wide = c.convert(scores, F32)
    given = box_selection.dropped(c, wide, c.less(least, wide))
    turned = c.unsqueeze(_with_corners(c, boxes, clockwise=op.clockwise), [1])
    rows, values = greedy(c, turned, given, most, Rule(_overlap, update))
    return scored_outputs(c, op, rows, values, scores)


def _with_corners(c: Export, boxes: Value, *, clockwise: bool) -> Value:
    """Convert boxes [N, P, 5] (centre x, centre y, width, height, angle) to [N, P, 9].

    The nine numbers are the x of the four corners, the y of the four corners, and the area.
    """
    # The angle is f32, because runtimes have no cosine of a wider type.
    narrow = c.slice(c.convert(boxes, F32), [4], [5], [2])
    x, y, width, height = (
        c.slice(c.convert(c.convert(boxes, F32), F64), [at], [at + 1], [2]) for at in range(4)
    )
    cos, sin = (c.convert(c(kind, narrow), F64) for kind in (elementwise.Cos(), elementwise.Sin()))
    sin = sin if clockwise else c(elementwise.Neg(), sin)
    half = c.constant(0.5, F64)
    wide, high = c.multiply(width, half), c.multiply(height, half)
    right, down = c.constant([-1.0, 1, 1, -1], F64), c.constant([-1.0, -1, 1, 1], F64)
    along, across = c.multiply(wide, right), c.multiply(high, down)
    corner_x = c.subtract(c.multiply(cos, along), c.multiply(sin, across))
    corner_y = c.add(c.multiply(sin, along), c.multiply(cos, across))
    area = c.multiply(width, height)
    return c.concat([c.add(x, corner_x), c.add(y, corner_y), area], 2)


def _part(c: Export, boxes: Value, first: int, end: int) -> Value:
    return c.slice(boxes, [first], [end], [-1])


def _polygon(c: Export, boxes: Value) -> Pair:
    return _part(c, boxes, 0, 4), _part(c, boxes, 4, 8)


def _rotated_by_one(c: Export, values: Value) -> Value:
    """Move the first element of the last axis to the end of this axis."""
    ends = [_part(c, values, 1, _POINTS), _part(c, values, 0, 1)]
    return c.concat(ends, -1)


def _cross(c: Export, left: Pair, right: Pair) -> Value:
    return c.subtract(c.multiply(left[0], right[1]), c.multiply(left[1], right[0]))


def _minus(c: Export, left: Pair, right: Pair) -> Pair:
    return c.subtract(left[0], right[0]), c.subtract(left[1], right[1])


def _outer(c: Export, pair: Pair, axis: int) -> Pair:
    return c.unsqueeze(pair[0], [axis]), c.unsqueeze(pair[1], [axis])


def _sides(c: Export, polygon: Pair) -> Pair:
    return _minus(c, (_rotated_by_one(c, polygon[0]), _rotated_by_one(c, polygon[1])), polygon)


def _within(c: Export, points: Pair, polygon: Pair) -> Value:
    """Emit whether points lie inside a quadrilateral or on its border: booleans [N, C, P, 4].

    `points` and `polygon` are pairs (x, y). The last axis holds four points, or the four corners of
    the polygon; the other axes are broadcast to [N, C, P].
    """
    sides = _sides(c, polygon)
    longest = c.maximum(*(c(elementwise.Abs(), side) for side in sides))
    longest = c.maximum(c.reduce("Max", longest, [3]), c.constant(1.0, F64))
    limit = c.multiply(c.multiply(longest, longest), c.constant(-1e-9, F64))
    away = _minus(c, _outer(c, points, 4), _outer(c, polygon, 3))
    reach = c.reduce("Min", _cross(c, _outer(c, sides, 3), away), [4], keep=False)
    return at_least(c, reach, limit)


def _crossings(c: Export, left: Pair, right: Pair) -> tuple[Pair, Value]:
    """Emit the points where the sides of two quadrilaterals cross, for many pairs at once.

    Return the coordinates (x, y), each [N, C, P, 16], and a mask of the same shape. The last axis
    holds the 4 x 4 combinations of a side of `left` and a side of `right`. The mask is true where
    the two sides do cross; the coordinates have no meaning elsewhere.
    """
    first, second = _outer(c, _sides(c, left), 4), _outer(c, _sides(c, right), 3)
    start = _outer(c, left, 4)
    between = _minus(c, _outer(c, right, 3), start)
    turn = _cross(c, first, second)
    meets = c.less(c.constant(1e-12, F64), c(elementwise.Abs(), turn))
    zero, one = c.constant(0.0, F64), c.constant(1.0, F64)
    safe = c.select(meets, turn, one)
    at, other = (c.divide(_cross(c, between, side), safe) for side in (second, first))
    for share in (at, other):
        meets = c(comparison.And(), meets, at_least(c, share, zero))
        meets = c(comparison.And(), meets, at_least(c, one, share))
    x, y = (
        c.reshape(c.add(low, c.multiply(at, side)), [0, 0, 0, 16])
        for low, side in zip(start, first, strict=True)
    )
    return (x, y), c.reshape(meets, [0, 0, 0, 16])


def _overlap(c: Export, boxes: Value, taken: Value) -> Value:
    """Emit the intersection over union of rotated boxes, [N, C, P].

    `boxes` [N, 1, P, 9] holds all P boxes of each batch item, and `taken` [N, C, 1, 9] the box just
    selected for each class. The 9 numbers are the x of four corners, the y of the four corners, and
    the area. The result is 0 where one of the boxes has no area.
    """
    zero, one = c.constant(0.0, F64), c.constant(1.0, F64)
    areas = [_part(c, item, 8, 9) for item in (boxes, taken)]
    solid = c(comparison.And(), *(c.less(zero, area) for area in areas))
    shared = _intersection_area(c, _polygon(c, boxes), _polygon(c, taken))
    union = c.subtract(c.add(*areas), shared)
    share = c.divide(shared, c.select(solid, union, one))
    return c.squeeze(c.select(solid, share, zero), [3])


def _intersection_area(c: Export, left: Pair, right: Pair) -> Value:
    """The intersection area of pairs of rotated boxes, [N, C, P, 1]."""
    crossing, crosses = _crossings(c, left, right)
    whole = c.shape_of(_part(c, crossing[0], 0, 4))
    zero = c.constant(0.0, F64)
    known = c.concat([_within(c, left, right), _within(c, right, left), crosses], 3)
    number = c.reduce("Sum", c.convert(known, F64), [3])
    number = c.maximum(number, c.constant(1.0, F64))
    around = []
    for axis in range(2):
        ends = [c.expand(side[axis], whole) for side in (left, right)]
        points = c.concat([*ends, crossing[axis]], 3)
        total = c.reduce("Sum", c.select(known, points, zero), [3])
        away = c.subtract(points, c.divide(total, number))
        # Points that do not exist are moved to the middle, where they add no area.
        around.append(c.select(known, away, zero))
    turn = c.select(known, _pseudo_angle(c, (around[0], around[1])), c.constant(9.0, F64))
    _, order = c.topk(turn, c.i64([_POINTS]), 3, largest=False)
    ring = [c(GatherElements(3), values, order) for values in around]
    place = c.constant(list(range(_POINTS)), F64)
    last = c.equal(place, c.subtract(number, c.constant(1.0, F64)))
    following = [
        c.select(last, _part(c, values, 0, 1), _rotated_by_one(c, values)) for values in ring
    ]
    parts = _cross(c, (ring[0], ring[1]), (following[0], following[1]))
    area = c(elementwise.Abs(), c.reduce("Sum", parts, [3]))
    return c.multiply(area, c.constant(0.5, F64))


def _pseudo_angle(c: Export, point: Pair) -> Value:
    """Return a number in -2..2 that increases with the angle of `point` around the origin.

    It replaces atan2(y, x) where points are only sorted by angle.
    """
    x, y = point
    zero, one = c.constant(0.0, F64), c.constant(1.0, F64)
    size = c.add(c(elementwise.Abs(), x), c(elementwise.Abs(), y))
    some = c.less(zero, size)
    share = c.divide(x, c.select(some, size, one))
    rest = c.subtract(one, share)
    return c.select(c.less(y, zero), c(elementwise.Neg(), rest), rest)
