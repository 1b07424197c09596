"""Computes the overlaps of rotated boxes.

Each call computes the overlaps of all boxes with one chosen box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.work import spend_each

__all__ = ["Array", "corners", "overlaps"]

Array = np.ndarray[Any, np.dtype[Any]]


def corners(boxes: Array, *, clockwise: bool) -> Array:
    """Corners [N, 4, 2], in order, of boxes (centre x, centre y, width, height, angle)."""
    angle = boxes[:, 4] if clockwise else -boxes[:, 4]
    along = np.stack((np.cos(angle), np.sin(angle)), axis=1)[:, None] * boxes[:, None, 2:3] / 2
    down = np.stack((-np.sin(angle), np.cos(angle)), axis=1)[:, None] * boxes[:, None, 3:4] / 2
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=boxes.dtype)
    turned = boxes[:, None, :2] + signs[:, :1] * along + signs[:, 1:] * down
    return np.asarray(turned)


def _cross(left: Array, right: Array) -> Array:
    return np.asarray(left[..., 0] * right[..., 1] - left[..., 1] * right[..., 0])


def _within(points: Array, polygon: Array) -> Array:
    """True for points [..., P, 2] inside polygons [..., 4, 2], their border included."""
    sides = np.roll(polygon, -1, axis=-2) - polygon
    reach = _cross(sides[..., None, :, :], points[..., None, :] - polygon[..., None, :, :])
    limit = 1e-9 * np.maximum(np.abs(sides).max(axis=(-2, -1), initial=0), 1)[..., None] ** 2
    return np.asarray((reach >= -limit[..., None]).all(axis=-1))


def _crossings(left: Array, right: Array) -> tuple[Array, Array]:
    """Compute where each side of one polygon crosses each side of another.

    `left` and `right` are N quadrilaterals each, [N, 4, 2]. Return the points [N, 16, 2] and a mask
    [N, 16], which is true where two sides do cross.
    """
    first = (np.roll(left, -1, axis=1) - left)[:, :, None]
    second = (np.roll(right, -1, axis=1) - right)[:, None]
    between = right[:, None] - left[:, :, None]
    turn = _cross(first, second)
    meets = np.abs(turn) > 1e-12
    safe = np.where(meets, turn, 1)
    at, other = _cross(between, second) / safe, _cross(between, first) / safe
    meets = meets & (at >= 0) & (at <= 1) & (other >= 0) & (other <= 1)
    points = left[:, :, None] + at[..., None] * first
    return points.reshape(len(points), 16, 2), meets.reshape(len(meets), 16)


def _shared(left: Array, right: Array) -> Array:
    """The intersection area of pairs of rotated boxes with corners [N, 4, 2]."""
    crossing, crosses = _crossings(left, right)
    points = np.concatenate((left, right, crossing), axis=1)
    known = np.concatenate((_within(left, right), _within(right, left), crosses), axis=1)
    number = np.maximum(known.sum(axis=1), 1)[:, None]
    middle = np.where(known[..., None], points, 0).sum(axis=1) / number
    # Points that do not exist are moved to the centre, where they add no area.
    around = np.where(known[..., None], points - middle[:, None], 0)
    turn = np.where(known, np.arctan2(around[..., 1], around[..., 0]), np.inf)
    order = np.argsort(turn, axis=1, kind="stable")
    ring = np.take_along_axis(around, order[..., None], axis=1)
    # The polygon is closed after its last existing point.
    last = np.arange(points.shape[1]) == number - 1
    following = np.where(last[..., None], ring[:, :1], np.roll(ring, -1, axis=1))
    return np.asarray(np.abs(_cross(ring, following).sum(axis=1)) / 2)


def overlaps(boxes: Array, chosen: int, *, clockwise: bool) -> Array:
    """Intersection over union of every box [N, 5] with box number `chosen`; 0 for empty boxes."""
    budget.reserve(3_000 * len(boxes), "overlaps of rotated boxes")
    spend_each(len(boxes), 12_000, "overlaps of rotated boxes")
    budget.spend(80, "overlaps of rotated boxes")
    wide = boxes.astype(np.float64)
    ring = corners(wide, clockwise=clockwise)
    area = wide[:, 2] * wide[:, 3]
    shared = _shared(ring, np.broadcast_to(ring[chosen], ring.shape))
    usable = (area > 0) & (area[chosen] > 0)
    union = area + area[chosen] - shared
    return np.asarray(np.where(usable, shared / np.where(usable, union, 1), 0))
