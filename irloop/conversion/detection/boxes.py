"""Emits ONNX operations that move, clip and measure boxes [..., 4] of (x1, y1, x2, y2).

`border` is the number that is added to x2 - x1 and y2 - y1 to get the width and the height. It is 1
if x2 and y2 are the indices of the last column and row in the box, else 0.
"""

from __future__ import annotations

from irloop.conversion.detection.scores import at_least
from irloop.conversion.framework.directions import Export
from irloop.dialects.onnx import comparison, elementwise
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = [
    "both",
    "centred_moves",
    "clipped",
    "extents",
    "halves",
    "large_enough",
    "overlap",
    "refined",
    "shifts",
    "touching",
    "unfolded",
    "with_border",
]

F32, I64 = ElementType.F32, ElementType.I64


def halves(c: Export, boxes: Value) -> tuple[Value, Value]:
    """The low and the high corners of boxes, [..., 2] each."""
    return c.slice(boxes, [0], [2], [-1]), c.slice(boxes, [2], [4], [-1])


def extents(c: Export, boxes: Value, border: float) -> Value:
    """The width and height of boxes, [..., 2]; `border` is added to both."""
    low, high = halves(c, boxes)
    return _plus(c, c.subtract(high, low), border)


def _plus(c: Export, value: Value, number: float) -> Value:
    return c.add(value, c.scalar(number, value)) if number else value


def refined(
    c: Export,
    boxes: Value,
    moves: Value,
    border: float,
    *,
    ends: bool,
    limit: float | None = None,
) -> Value:
    """Move and scale boxes by the predicted offsets `moves`, which are (dx, dy, dw, dh).

    The centre of a box moves by the fractions dx and dy of its size, and the size is multiplied by
    exp(dw) and exp(dh), where dw and dh are limited to at most `limit`. `border` is added to the
    sizes of the old boxes: 1 if the corners of a box are the indices of its first and last
    elements, else 0. With `ends`, `border` is subtracted from the new high corner.
    """
    low, _ = halves(c, boxes)
    shift, growth = halves(c, moves)
    size = extents(c, boxes, border)
    half = c.scalar(0.5, boxes)
    middle = c.add(low, c.multiply(size, half))
    centre = c.add(middle, c.multiply(shift, size))
    growth = c.clip(growth, None, limit)
    reach = c.multiply(c.multiply(c(elementwise.Exp(), growth), size), half)
    high = c.add(centre, reach)
    high = _plus(c, high, -border) if ends else high
    return c.concat([c.subtract(centre, reach), high], -1)


def centred_moves(c: Export, boxes: Value, moves: Value) -> Value:
    """Move and scale `boxes`, such as the priors of SSD, by the offsets `moves`.

    The offsets are (dx, dy, dw, dh): the centre moves by the fractions dx and dy of the box's size,
    and the size is multiplied by exp(dw) and exp(dh). No border is added to the size.
    """
    return refined(c, boxes, moves, 0.0, ends=False)


def clipped(c: Export, boxes: Value, height: Value, width: Value) -> Value:
    """Clip the corners of boxes to 0..width and 0..height; both bounds are tensors [..., 1]."""
    high = c.concat([width, height, width, height], -1)
    return c.maximum(c.minimum(boxes, high), c.scalar(0.0, boxes))


def with_border(c: Export, boxes: Value, border: float) -> Value:
    """Add `border` to the high corners (x2, y2) of boxes [.., 4].

    If coordinates are the indices of pixels, a box from pixel 3 to pixel 5 is 3 pixels wide. With a
    border of 1, the difference x2 - x1 equals this width.
    """
    if not border:
        return boxes
    return c.add(boxes, c.constant([0.0, 0.0, border, border], element_of(boxes)))


def unfolded(c: Export, boxes: Value) -> Value:
    """Raise the upper corner of each box to at least the lower corner.

    Boxes whose corners are in the wrong order become empty. ONNX would swap the corners instead.
    """
    low, high = halves(c, boxes)
    return c.concat([low, c.maximum(low, high)], -1)


def large_enough(c: Export, boxes: Value, border: float, least: tuple[Value, Value]) -> Value:
    """Emit a mask [..., N] of the boxes [..., N, 4] that are at least as large as `least`.

    `least` is the minimum height and the minimum width, each [..., 1, 1].
    """
    size = extents(c, boxes, border)
    height, width = least
    wide = at_least(c, c.slice(size, [0], [1], [-1]), width)
    high = at_least(c, c.slice(size, [1], [2], [-1]), height)
    return c.squeeze(c(comparison.And(), wide, high), [-1])


def _corners(c: Export, boxes: Value) -> list[Value]:
    """Split boxes [..., 4] into the coordinates x1, y1, x2 and y2, each of shape [...]."""
    return [c.gather(boxes, c.i64(at), -1) for at in range(4)]


def _sides(c: Export, boxes: list[Value], others: list[Value], border: float) -> list[Value]:
    """Compute the width and the height of the intersection of each box with its counterpart.

    `boxes` and `others` each hold x1, y1, x2 and y2 as four tensors that broadcast. The width is
    min(x2) - max(x1) + `border`, so it is negative if two boxes are far apart in x. The height is
    computed from y in the same way. `border` is 1 if the corners of a box are the indices of its
    first and last elements, else 0.
    """
    sides = []
    for at in range(2):
        low = c.maximum(boxes[at], others[at])
        high = c.minimum(boxes[2 + at], others[2 + at])
        sides.append(_plus(c, c.subtract(high, low), border))
    return sides


def overlap(c: Export, boxes: Value, others: Value, border: float) -> Value:
    """The intersection over union of boxes that broadcast; 0 if one of them is empty.

    `border` is added to each side length.
    """
    zero, one = c.constant(0.0, element_of(boxes)), c.constant(1.0, element_of(boxes))
    corners = [_corners(c, item) for item in (boxes, others)]
    sides = _sides(c, corners[0], corners[1], border)
    shared = c.multiply(*(c.maximum(side, zero) for side in sides))
    areas = [c.multiply(*_sides(c, item, item, border)) for item in corners]
    solid = c(comparison.And(), *(c.less(zero, area) for area in areas))
    union = c.subtract(c.add(*areas), shared)
    share = c.divide(shared, c.select(solid, union, one))
    return c.select(solid, share, zero)


def touching(c: Export, boxes: Value, others: Value) -> Value:
    """True where a box and its counterpart in `others` have a point in common.

    The two tensors are broadcast against each other.
    """
    sides = _sides(c, _corners(c, boxes), _corners(c, others), 0.0)
    zero = c.constant(0.0, element_of(boxes))
    return c(comparison.And(), *(at_least(c, side, zero) for side in sides))


def both(c: Export, marks: Value) -> Value:
    """True where both elements of the last axis are true."""
    return c(comparison.And(), *(c.gather(marks, c.i64(at), -1) for at in range(2)))


def shifts(c: Export, x: Value, y: Value) -> Value:
    """Box offsets [H, W, 1, 4] that move both corners of a box by x and y.

    x is [.., W, 1, 1] and y is [H, 1, 1, 1].
    """
    along, down = c.constant([1.0, 0, 1, 0], F32), c.constant([0.0, 1, 0, 1], F32)
    return c.add(c.multiply(x, along), c.multiply(y, down))
