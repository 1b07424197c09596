"""Read regions of interest from feature maps: pooling, alignment, position-sensitive pooling.

Feature maps are [N, C, H, W]; a region is a box and the batch item it belongs to. The loops run
over regions, never over elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each

__all__ = [
    "Array",
    "Function",
    "psroi_average",
    "psroi_bilinear",
    "roi_align",
    "roi_pool_bilinear",
    "roi_pool_max",
]

#: Steps of the budget for a region, without its samples.
A_REGION = 20

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _places(first: Array, end: Array, size: int) -> tuple[Array, Array]:
    """Return the indices of the elements in each bin, and a mask of the empty bins.

    Bin i has the elements from `first[i]` to `end[i]` - 1 of an axis with `size` elements.
    Positions outside the axis are left out. The indices have the shape [bins, longest], where
    longest is the number of elements in the largest bin. A smaller bin repeats its last index.
    """
    first, end = np.clip(first, 0, size), np.clip(end, 0, size)
    empty = end <= first
    longest = int(np.max(end - first, initial=1))
    place = np.minimum(first[:, None] + np.arange(longest), end[:, None] - 1)
    return np.clip(place, 0, size - 1), empty


def _rounded(number: float) -> int:
    """The nearest integer; of two, the one further from 0."""
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def roi_pool_max(height: int, width: int, scale: float) -> Function:
    """Make a kernel that returns the maximum of each bin of each region; 0 for an empty bin.

    The kernel takes the data and regions [R, 5] (item, x1, y1, x2, y2). Each region has
    `height` * `width` bins, and `scale` converts its coordinates to elements of the data.
    """

    def bins(low: float, high: float, count: int, size: int) -> tuple[Array, Array]:
        start = _rounded(low * scale)
        extent = max(_rounded(high * scale) - start + 1, 1)
        step = np.float32(extent) / np.float32(count)
        index = np.arange(count, dtype=np.float32)
        first = np.floor(index * step).astype(np.int64) + start
        end = np.ceil((index + 1) * step).astype(np.int64) + start
        return _places(first, end, size)

    def apply(data: Array, rois: Array) -> Any:
        result = np.zeros((len(rois), data.shape[1], height, width), data.dtype)
        budget.spend(A_REGION * len(rois), "reading regions")
        for region, (image, x1, y1, x2, y2) in enumerate(rois.astype(np.float64).tolist()):
            if image < 0:
                break
            rows, no_rows = bins(y1, y2, height, data.shape[2])
            columns, no_columns = bins(x1, x2, width, data.shape[3])
            cells_size = data.shape[1] * rows.size * columns.size
            budget.reserve(3 * data.itemsize * cells_size, "the elements of a region")
            spend_each(cells_size, 10, "the elements of a region")
            cells = data[int(image)][:, rows][:, :, :, columns]
            best = cells.max(axis=(2, 4))
            result[region] = np.where(no_rows[:, None] | no_columns, 0, best)
        return result

    return apply


def _corners(place: Array, size: int) -> tuple[Array, Array, Array]:
    """Return the two neighbours of each position, and the weight of the second.

    The neighbours are indices: the position rounded down, and the next index, which is at most
    `size` - 1. The weight is the fractional part of the position.
    """
    low = np.floor(place).astype(np.int64)
    return low, np.minimum(low + 1, size - 1), place - low


def _bilinear(plane: Array, y: Array, x: Array) -> Array:
    """Bilinear samples [C, len(y), len(x)] of `plane` [C, H, W] at all pairs of positions.

    Samples outside the plane are 0.
    """
    height, width = plane.shape[1:]
    inside = ((y >= 0) & (y <= height - 1))[:, None] & ((x >= 0) & (x <= width - 1))
    top, bottom, down = _corners(np.clip(y, 0, height - 1), height)
    left, right, along = _corners(np.clip(x, 0, width - 1), width)
    rows = plane[:, top] * (1 - down)[:, None] + plane[:, bottom] * down[:, None]
    values: Array = rows[:, :, left] * (1 - along) + rows[:, :, right] * along
    return np.where(inside, values, 0)


def _grid(low: float, high: float, count: int, size: int) -> Array:
    """`count` positions from one border of a box to the other, both included.

    The borders are given in 0..1, the positions in elements. A single position is in the middle.
    """
    if count == 1:
        return np.array([(low + high) * (size - 1) / 2])
    return low * (size - 1) + np.arange(count) * ((high - low) * (size - 1) / (count - 1))


def roi_pool_bilinear(height: int, width: int) -> Function:
    """Return a function that samples regions [R, 5] on a grid of `height` by `width` points.

    The outer points of the grid are the corners of the region. Coordinates are in 0..1.
    """

    def apply(data: Array, rois: Array) -> Any:
        result = np.zeros((len(rois), data.shape[1], height, width), data.dtype)
        budget.spend(A_REGION * len(rois), "reading regions")
        for region, (image, x1, y1, x2, y2) in enumerate(rois.astype(np.float64).tolist()):
            if image < 0:
                break
            samples = data.shape[1] * height * (data.shape[3] + width)
            budget.reserve(4 * 8 * samples + 80 * (height + width), "the samples of a region")
            spend_each(samples, 15, "the samples of a region")
            y = _grid(y1, y2, height, data.shape[2])
            x = _grid(x1, x2, width, data.shape[3])
            result[region] = _bilinear(widened(data[int(image)]), y, x)
        return result

    return apply


def _align_axis(
    start: float, extent: float, count: int, ratio: int, size: int
) -> tuple[Array, Array, Array]:
    """Find the elements between which the samples on one axis lie.

    A region of length `extent` has `count` bins on the axis, each with `ratio` samples; if `ratio`
    is 0, each bin has about one sample per element. Returns the indices [positions, 2] of the
    elements, their weights, and a mask of the positions that are on the axis or at most one element
    outside.
    """
    samples = ratio if ratio > 0 else max(math.ceil(extent / count), 1)
    budget.reserve(samples * count * 80, "the samples of a region")
    step = np.float32(extent) / np.float32(count)
    inner = (np.arange(samples, dtype=np.float32) + np.float32(0.5)) * step / np.float32(samples)
    bins = np.arange(count, dtype=np.float32)[:, None] * step
    place = (np.float32(start) + bins + inner).reshape(-1)
    inside = (place >= -1) & (place <= size)
    place = np.clip(place, 0, size - 1)
    low, high, share = _corners(place, size)
    return np.stack((low, high), 1), np.stack((1 - share, share), 1), inside


def roi_align(
    height: int,
    width: int,
    ratio: int,
    scale: float,
    mode: str,
    *,
    before: float = 0.0,
    after: float = 0.0,
    at_least_one: bool,
) -> Function:
    """Make a kernel for ROI align with `height` * `width` bins per region.

    The kernel's operands are the data, the regions [R, 4] (x1, y1, x2, y2) and their batch items
    [R]. Each bin is sampled bilinearly at `ratio` positions per axis; a ratio of 0 means about one
    sample per element of the data. The value of a bin depends on `mode`: "avg" takes the mean of
    its samples, "max" the largest element after weighting, "max_sample" the largest sample, but at
    least 0. A coordinate x becomes (x + `before`) * `scale` + `after`; with `at_least_one` a region
    is at least one element high and wide.
    """

    def apply(data: Array, rois: Array, items: Array) -> Any:
        result = np.zeros((len(rois), data.shape[1], height, width), data.dtype)
        images = items.reshape(-1).astype(np.int64)
        budget.spend(A_REGION * len(rois), "reading regions")
        for region, (x1, y1, x2, y2) in enumerate(widened(rois)):
            one = np.float32(scale)
            first, second = np.float32(before), np.float32(after)
            left, top, right, bottom = (
                float((bound + first) * one + second) for bound in (x1, y1, x2, y2)
            )
            wide, high = right - left, bottom - top
            if at_least_one:
                wide, high = max(wide, 1.0), max(high, 1.0)
            rows = _align_axis(top, high, height, ratio, data.shape[2])
            columns = _align_axis(left, wide, width, ratio, data.shape[3])
            plane = widened(data[images[region]])
            result[region] = _aligned(plane, rows, columns, height, width, mode)
        return result

    return apply


def _aligned(
    plane: Array,
    rows: tuple[Array, Array, Array],
    columns: tuple[Array, Array, Array],
    height: int,
    width: int,
    mode: str,
) -> Array:
    (y, y_share, y_inside), (x, x_share, x_inside) = rows, columns
    budget.reserve(24 * len(plane) * y.size * x.size, "the samples of a region")
    spend_each(len(plane) * y.size * x.size, 10, "the samples of a region")
    # [C, sampled rows, 2, sampled columns, 2]
    cells = plane[:, y][:, :, :, x] * y_share[:, :, None, None] * x_share
    cells = cells * (y_inside[:, None, None, None] & x_inside[:, None])
    if mode != "max":
        cells = cells.sum(axis=(2, 4))[:, :, None, :, None]
    near, beside = cells.shape[2], cells.shape[4]
    binned = cells.reshape(len(plane), height, -1, near, width, len(x) // width, beside)
    axes = (2, 3, 5, 6)
    if mode == "avg":
        return np.asarray(binned.mean(axis=axes))
    # OpenVINO starts from 0 when it computes the largest sample.
    return np.asarray(binned.max(axis=axes, initial=0 if mode == "max_sample" else -np.inf))


def psroi_average(outputs: int, group: int, scale: float) -> Function:
    """Make a kernel for position-sensitive pooling (R-FCN): the mean of each bin of each region.

    Its operands are the data and the regions [R, 5] (item, x1, y1, x2, y2); the result is [R,
    `outputs`, `group`, `group`]. Each bin reads channels of its own. `scale` is the number of
    elements of the map per unit of the coordinates. A region, even one whose ends are exchanged, is
    at least 0.1 elements high and wide.
    """

    def bins(low: float, high: float, size: int) -> tuple[Array, Array]:
        start = _rounded(low) * scale
        end = (_rounded(high) + 1.0) * scale
        step = max(end - start, 0.1) / group
        index = np.arange(group)
        first = np.floor(start + index * step)
        last = np.ceil(start + (index + 1) * step)
        return (
            np.clip(first, 0, size).astype(np.int64),
            np.clip(last, 0, size).astype(np.int64),
        )

    def apply(data: Array, rois: Array) -> Any:
        result = np.zeros((len(rois), outputs, group, group), data.dtype)
        budget.spend(A_REGION * len(rois), "reading regions")
        for region, (image, x1, y1, x2, y2) in enumerate(rois.astype(np.float64).tolist()):
            if image < 0:
                break
            plane = widened(data[int(image)])
            budget.reserve(48 * plane.size, "the sums of a region")
            spend_each(plane.size, 20, "the sums of a region")
            sums = np.zeros((plane.shape[0], plane.shape[1] + 1, plane.shape[2] + 1))
            sums[:, 1:, 1:] = plane.astype(np.float64).cumsum(1).cumsum(2)
            top, bottom = bins(y1, y2, data.shape[2])
            left, right = bins(x1, x2, data.shape[3])
            area = np.maximum(bottom - top, 0)[:, None] * np.maximum(right - left, 0)
            total = (
                sums[:, bottom][:, :, right]
                - sums[:, top][:, :, right]
                - sums[:, bottom][:, :, left]
                + sums[:, top][:, :, left]
            )
            own = total.reshape(outputs, group, group, group, group)
            row, column = np.arange(group)[:, None], np.arange(group)
            chosen = own[:, row, column, row, column]
            result[region] = np.where(area > 0, chosen / np.maximum(area, 1), 0)
        return result

    return apply


def psroi_bilinear(outputs: int, group: int, bins_x: int, bins_y: int, scale: float) -> Function:
    """Make a kernel for position-sensitive pooling in the mode bilinear.

    Its operands are the data and the regions [R, 5] (item, x1, y1, x2, y2); the result is [R,
    `outputs`, `group`, `group`]. Each region is divided into `bins_y` x `bins_x` bins, and each bin
    has its own `outputs` channels of the data. A bin is sampled on a grid of `group` x `group`
    points; the result is the mean of the grids of all bins. Coordinates times `scale` are in 0..1.
    """

    def apply(data: Array, rois: Array) -> Any:
        height, width = data.shape[2:]
        result = np.zeros((len(rois), outputs, group, group), data.dtype)
        budget.spend(A_REGION * len(rois) * bins_y * bins_x, "reading regions")
        for region, (image, *box) in enumerate(rois.astype(np.float64).tolist()):
            if image < 0:
                break
            x1, y1, x2, y2 = (bound * scale for bound in box)
            plane = widened(data[int(image)])
            channels = plane.reshape(bins_y * bins_x, outputs, height, width)
            total = np.zeros((outputs, group, group))
            for row in range(bins_y):
                low = y1 + (y2 - y1) / bins_y * row
                y = _grid(low, low + (y2 - y1) / bins_y, group, height)
                for column in range(bins_x):
                    left = x1 + (x2 - x1) / bins_x * column
                    x = _grid(left, left + (x2 - x1) / bins_x, group, width)
                    total += _bilinear(channels[row * bins_x + column], y, x)
            result[region] = total / (bins_x * bins_y)
        return result

    return apply
