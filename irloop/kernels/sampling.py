"""Reading tensors at fractional positions: grid sampling and deformable convolution.

A position has one coordinate for each spatial axis. The value read there is a weighted sum of the
elements at the corners of the cell around the position. The kernels loop over the corners, and
process all positions at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product as all_of
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each

__all__ = [
    "Array",
    "Function",
    "affine_grid",
    "cubic_weights",
    "grid_sample",
    "weighted_corners",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
#: For each corner of a cell, element indices and weights along one axis.
Corners = Sequence[tuple[Array, Array]]

#: Nanoseconds to add one element at one corner.
A_CORNER = 20


def cubic_weights(fraction: Array, a: float) -> list[Array]:
    """Weights of the four elements around a position: Keys' cubic kernel with coefficient `a`."""

    def near(t: Array) -> Any:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: Array) -> Any:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    t = fraction
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def weighted_corners(data: Array, corners: Sequence[Corners]) -> Array:
    """Read `data` [N, C, ...] at P positions, as weighted sums of elements: [N, C, P].

    For each spatial axis, `corners` lists pairs of indices and weights, both [N, P]. They
    belong to the elements that contribute to the sums.

    Raises:
        LimitError: when the budget has fewer steps left than this takes.
    """
    items, channels = data.shape[:2]
    sizes = data.shape[2:]
    flat = data.reshape(items, channels, -1)
    positions = items * channels * corners[0][0][0].shape[-1]
    work = positions * math.prod(map(len, corners))
    spend_each(work, A_CORNER, "reading at fractional positions")
    total: Array | None = None
    for chosen in all_of(*corners):
        index: Any = 0
        weight: Any = 1
        for size, (place, share) in zip(sizes, chosen, strict=True):
            index = index * size + place
            weight = weight * share
        values = np.take_along_axis(flat, index[:, None], axis=2)
        part = values * weight[:, None].astype(flat.dtype)
        total = part if total is None else total + part
    assert total is not None, "there is at least one spatial axis"
    return total


def _reflected(place: Array, low: float, high: float) -> Array:
    """Mirror positions at both bounds until they lie between them."""
    span = high - low
    if span <= 0:
        return np.full_like(place, low)
    distance = np.mod(place - low, 2 * span)
    return low + np.where(distance > span, 2 * span - distance, distance)


def _bounded(place: Array, size: int, padding: str, *, align: bool) -> Array:
    """Apply the padding mode to positions that lie outside an axis of `size` elements.

    "border" moves them to the first or last element, and "reflection" mirrors them into the axis.
    With any other padding, positions are returned unchanged. With `align`, the axis ends at the
    centres of its first and last element, otherwise at their outer edges.
    """
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    if padding == "border":
        outside = (place < low) | (place > high)
        return np.where(outside, np.clip(place, 0, size - 1), place)
    if padding == "reflection":
        return _reflected(place, low, high)
    return place


def _elements(place: Array, size: int, padding: str, *, align: bool) -> tuple[Array, Array]:
    """Return the index and the weight of the element at each position along one axis.

    `place` holds integral positions, which may be outside the axis, and `size` is the size of the
    axis. An index is always inside. With padding "zeros" the weight of a position outside is 0;
    all other weights are 1. `align` tells where padding "reflection" reflects: at the centres of
    the border elements (true), or at their outer edges.
    """
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        place = _reflected(place, low, high)
    index = np.rint(np.clip(place, 0, size - 1)).astype(np.int64)
    inside = np.ones_like(place) if padding != "zeros" else (place >= 0) & (place <= size - 1)
    return index, inside.astype(place.dtype)


def _axis_corners(place: Array, size: int, mode: str, padding: str, *, align: bool) -> Corners:
    if mode == "nearest":
        place = np.rint(place)
    if mode != "cubic" or padding == "reflection":
        # The position is bounded, except for a cubic kernel without reflection: such a kernel reads
        # elements beyond the border, so the index of each element is bounded instead.
        place = _bounded(place, size, padding, align=align)
    if mode == "nearest":
        return [_elements(place, size, padding, align=align)]
    first = np.floor(place)
    fraction = place - first
    linear = mode == "linear"
    weights = [1 - fraction, fraction] if linear else cubic_weights(fraction, -0.75)
    corners = []
    for offset, weight in enumerate(weights, start=0 if linear else -1):
        index, inside = _elements(first + offset, size, padding, align=align)
        corners.append((index, weight * inside))
    return corners


def grid_sample(mode: str, padding: str, *, align: bool) -> Function:
    """Make a kernel that samples data at the positions of a grid, like GridSample.

    The grid [N, P1, ..., Pr, r] is applied to data [N, C, D1, ..., Dr]. The result has the shape
    [N, C, P1, ..., Pr]. Positions are in -1..1 on each axis, and the last of the r coordinates of a
    position belongs to axis D1.

    Args:
        mode: how to interpolate: nearest, linear or cubic.
        padding: what to read outside the data: zeros, border or reflection.
        align: whether -1 and 1 are the centres of the outer elements, instead of their outer edges.
    """

    def apply(data: Array, grid: Array) -> Any:
        sizes = data.shape[2:]
        wide = widened(data)
        places = widened(grid).reshape(grid.shape[0], -1, len(sizes))
        points, axes = places.shape[0] * places.shape[1], places.shape[2]
        # For each point: an index and weights for each corner along each axis, and sums for each
        # channel.
        in_cell = {"nearest": 1, "cubic": 4}.get(mode, 2)
        each = axes * in_cell * (8 + 2 * wide.itemsize) + 4 * wide.shape[1] * wide.itemsize
        budget.reserve(points * each, "sampling at a grid")
        corners = []
        with np.errstate(all="ignore"):
            for axis, size in enumerate(sizes):
                unit = places[..., len(sizes) - 1 - axis]
                place = (unit + 1) / 2 * (size - 1) if align else ((unit + 1) * size - 1) / 2
                # NaN is treated like a position far outside.
                place = np.nan_to_num(place, nan=-1e6, posinf=1e6, neginf=-1e6)
                corners.append(_axis_corners(place, size, mode, padding, align=align))
            result = weighted_corners(wide, corners)
        shape = (*data.shape[:2], *grid.shape[1:-1])
        return result.reshape(shape).astype(data.dtype, copy=False)

    return apply


def affine_grid(*, align: bool) -> Function:
    """Make a kernel that computes a grid of positions, as AffineGrid does.

    The kernel transforms the positions of an image of size [N, C, D1, ..., Dr] by matrices [N, r, r
    + 1], and returns [N, D1, ..., Dr, r]. The last coordinate of a position belongs to the axis D1.
    With `align`, -1 and 1 are the centres of the outer elements of an axis, otherwise their outer
    edges.
    """

    def apply(theta: Array, size: Array) -> Any:
        if size.size != theta.shape[-2] + 2:
            raise ValueError(
                f"size has {size.size} values, but matrices {list(theta.shape)} need "
                f"{theta.shape[-2] + 2}"
            )
        sizes = [int(count) for count in size.reshape(-1)[2:]]
        wide = widened(theta)
        columns = np.expand_dims(wide, tuple(range(1, 1 + len(sizes))))
        result: Any = columns[..., -1]
        for axis, count in enumerate(sizes):
            number = np.arange(count, dtype=wide.dtype)
            # With `align`, a single element is at -1, as if it were the first of several.
            unit = number * 2 / max(count - 1, 1) - 1 if align else (number * 2 + 1) / count - 1
            shape = [1] * (len(sizes) + 2)
            shape[1 + axis] = count
            column = columns[..., len(sizes) - 1 - axis]
            result = result + column * unit.astype(wide.dtype).reshape(shape)
        return result.astype(theta.dtype, copy=False)

    return apply
