"""Converts NMSRotated to ONNX: each iteration of a Loop keeps a box and suppresses its neighbours.

A box is nine f64 numbers: the x of its corners in order, their y, and its area.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.detection import box_selection
from irloop.conversion.detection.greedy import Rule, greedy
from irloop.conversion.detection.nms import listed, scored_outputs
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms.scores import at_least
from irloop.conversion.framework.translation import Conversion, exports
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
    c: Conversion,
    op: ov.NMSRotated,
    boxes: Value,
    scores: Value,
    limit: Value,
    iou: Value,
    threshold: Value,
) -> list[Value]:
    """Write NMSRotated as a Loop; each iteration keeps the best remaining box of each class."""
    box_selection.require_opset(c)
    most = forms.maximum(c, listed(c, limit, I64), c.i64([0]))
    share, least = (listed(c, value, F32) for value in (iou, threshold))

    def update(
        loop: OnnxLoopBuilder, left: Value, overlap: Value, states: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        far = at_least(loop.inner, loop.capture(share), overlap)
        return box_selection.dropped(loop.inner, left, far), []

    wide = forms.convert(c, scores, F32)
    given = box_selection.dropped(c, wide, forms.less(c, least, wide))
    turned = forms.unsqueeze(c, _with_corners(c, boxes, clockwise=op.clockwise), [1])
    rows, values = greedy(c, turned, given, most, Rule(_overlap, update))
    return scored_outputs(c, op, rows, values, scores)


def _with_corners(c: Conversion, boxes: Value, *, clockwise: bool) -> Value:
    """Convert boxes [N, P, 5] (centre x, centre y, width, height, angle) to [N, P, 9].

    The nine numbers are the x of the four corners, the y of the four corners, and the area.
    """
    # The angle is f32, because runtimes have no cosine of a wider type.
    narrow = forms.slice_(c, forms.convert(c, boxes, F32), [4], [5], [2])
    x, y, width, height = (
        forms.slice_(c, forms.convert(c, forms.convert(c, boxes, F32), F64), [at], [at + 1], [2])
        for at in range(4)
    )
    cos, sin = (
        forms.convert(c, c(kind, narrow), F64) for kind in (elementwise.Cos(), elementwise.Sin())
    )
    sin = sin if clockwise else c(elementwise.Neg(), sin)
    half = c.constant(0.5, F64)
    wide, high = forms.multiply(c, width, half), forms.multiply(c, height, half)
    right, down = c.constant([-1.0, 1, 1, -1], F64), c.constant([-1.0, -1, 1, 1], F64)
    along, across = forms.multiply(c, wide, right), forms.multiply(c, high, down)
    corner_x = forms.subtract(c, forms.multiply(c, cos, along), forms.multiply(c, sin, across))
    corner_y = forms.add(c, forms.multiply(c, sin, along), forms.multiply(c, cos, across))
    area = forms.multiply(c, width, height)
    return forms.concat(c, [forms.add(c, x, corner_x), forms.add(c, y, corner_y), area], 2)


def _part(c: Conversion, boxes: Value, first: int, end: int) -> Value:
    return forms.slice_(c, boxes, [first], [end], [-1])


def _polygon(c: Conversion, boxes: Value) -> Pair:
    return _part(c, boxes, 0, 4), _part(c, boxes, 4, 8)


def _rotated_by_one(c: Conversion, values: Value) -> Value:
    """Move the first element of the last axis to the end of this axis."""
    ends = [_part(c, values, 1, _POINTS), _part(c, values, 0, 1)]
    return forms.concat(c, ends, -1)


def _cross(c: Conversion, left: Pair, right: Pair) -> Value:
    return forms.subtract(
        c, forms.multiply(c, left[0], right[1]), forms.multiply(c, left[1], right[0])
    )


def _minus(c: Conversion, left: Pair, right: Pair) -> Pair:
    return forms.subtract(c, left[0], right[0]), forms.subtract(c, left[1], right[1])


def _outer(c: Conversion, pair: Pair, axis: int) -> Pair:
    return forms.unsqueeze(c, pair[0], [axis]), forms.unsqueeze(c, pair[1], [axis])


def _sides(c: Conversion, polygon: Pair) -> Pair:
    return _minus(c, (_rotated_by_one(c, polygon[0]), _rotated_by_one(c, polygon[1])), polygon)


def _within(c: Conversion, points: Pair, polygon: Pair) -> Value:
    """Emit whether points lie inside a quadrilateral or on its border: booleans [N, C, P, 4].

    `points` and `polygon` are pairs (x, y). The last axis holds four points, or the four corners of
    the polygon; the other axes are broadcast to [N, C, P].
    """
    sides = _sides(c, polygon)
    longest = forms.maximum(c, *(c(elementwise.Abs(), side) for side in sides))
    longest = forms.maximum(c, forms.reduce(c, "Max", longest, [3]), c.constant(1.0, F64))
    limit = forms.multiply(c, forms.multiply(c, longest, longest), c.constant(-1e-9, F64))
    away = _minus(c, _outer(c, points, 4), _outer(c, polygon, 3))
    reach = forms.reduce(c, "Min", _cross(c, _outer(c, sides, 3), away), [4], keep=False)
    return at_least(c, reach, limit)


def _crossings(c: Conversion, left: Pair, right: Pair) -> tuple[Pair, Value]:
    """Emit the points where the sides of two quadrilaterals cross, for many pairs at once.

    Return the coordinates (x, y), each [N, C, P, 16], and a mask of the same shape. The last axis
    holds the 4 x 4 combinations of a side of `left` and a side of `right`. The mask is true where
    the two sides do cross; the coordinates have no meaning elsewhere.
    """
    first, second = _outer(c, _sides(c, left), 4), _outer(c, _sides(c, right), 3)
    start = _outer(c, left, 4)
    between = _minus(c, _outer(c, right, 3), start)
    turn = _cross(c, first, second)
    meets = forms.less(c, c.constant(1e-12, F64), c(elementwise.Abs(), turn))
    zero, one = c.constant(0.0, F64), c.constant(1.0, F64)
    safe = forms.select(c, meets, turn, one)
    at, other = (forms.divide(c, _cross(c, between, side), safe) for side in (second, first))
    for share in (at, other):
        meets = c(comparison.And(), meets, at_least(c, share, zero))
        meets = c(comparison.And(), meets, at_least(c, one, share))
    x, y = (
        forms.reshape(c, forms.add(c, low, forms.multiply(c, at, side)), [0, 0, 0, 16])
        for low, side in zip(start, first, strict=True)
    )
    return (x, y), forms.reshape(c, meets, [0, 0, 0, 16])


def _overlap(c: Conversion, boxes: Value, taken: Value) -> Value:
    """Emit the intersection over union of rotated boxes, [N, C, P].

    `boxes` [N, 1, P, 9] holds all P boxes of each batch item, and `taken` [N, C, 1, 9] the box just
    selected for each class. The 9 numbers are the x of four corners, the y of the four corners, and
    the area. The result is 0 where one of the boxes has no area.
    """
    zero, one = c.constant(0.0, F64), c.constant(1.0, F64)
    areas = [_part(c, item, 8, 9) for item in (boxes, taken)]
    solid = c(comparison.And(), *(forms.less(c, zero, area) for area in areas))
    shared = _intersection_area(c, _polygon(c, boxes), _polygon(c, taken))
    union = forms.subtract(c, forms.add(c, *areas), shared)
    share = forms.divide(c, shared, forms.select(c, solid, union, one))
    return forms.squeeze(c, forms.select(c, solid, share, zero), [3])


def _intersection_area(c: Conversion, left: Pair, right: Pair) -> Value:
    """The intersection area of pairs of rotated boxes, [N, C, P, 1]."""
    crossing, crosses = _crossings(c, left, right)
    whole = forms.shape_of(c, _part(c, crossing[0], 0, 4))
    zero = c.constant(0.0, F64)
    known = forms.concat(c, [_within(c, left, right), _within(c, right, left), crosses], 3)
    number = forms.reduce(c, "Sum", forms.convert(c, known, F64), [3])
    number = forms.maximum(c, number, c.constant(1.0, F64))
    around = []
    for axis in range(2):
        ends = [forms.expand(c, side[axis], whole) for side in (left, right)]
        points = forms.concat(c, [*ends, crossing[axis]], 3)
        total = forms.reduce(c, "Sum", forms.select(c, known, points, zero), [3])
        away = forms.subtract(c, points, forms.divide(c, total, number))
        # Points that do not exist are moved to the middle, where they add no area.
        around.append(forms.select(c, known, away, zero))
    turn = forms.select(c, known, _pseudo_angle(c, (around[0], around[1])), c.constant(9.0, F64))
    _, order = forms.topk(c, turn, c.i64([_POINTS]), 3, largest=False)
    ring = [c(GatherElements(3), values, order) for values in around]
    place = c.constant(list(range(_POINTS)), F64)
    last = forms.equal(c, place, forms.subtract(c, number, c.constant(1.0, F64)))
    following = [
        forms.select(c, last, _part(c, values, 0, 1), _rotated_by_one(c, values)) for values in ring
    ]
    parts = _cross(c, (ring[0], ring[1]), (following[0], following[1]))
    area = c(elementwise.Abs(), forms.reduce(c, "Sum", parts, [3]))
    return forms.multiply(c, area, c.constant(0.5, F64))


def _pseudo_angle(c: Conversion, point: Pair) -> Value:
    """Return a number in -2..2 that increases with the angle of `point` around the origin.

    It replaces atan2(y, x) where points are only sorted by angle.
    """
    x, y = point
    zero, one = c.constant(0.0, F64), c.constant(1.0, F64)
    size = forms.add(c, c(elementwise.Abs(), x), c(elementwise.Abs(), y))
    some = forms.less(c, zero, size)
    share = forms.divide(c, x, forms.select(c, some, size, one))
    rest = forms.subtract(c, one, share)
    return forms.select(c, forms.less(c, y, zero), c(elementwise.Neg(), rest), rest)
