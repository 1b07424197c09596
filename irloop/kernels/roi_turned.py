"""Rotated regions and regions with movable bins: ROIAlignRotated, DeformablePSROIPooling.

Feature maps are [N, C, H, W]. The loops run over regions, never over elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each

__all__ = ["Array", "Function", "deformable_psroi", "roi_align_rotated"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _read(plane: Array, channels: Array, y: Array, x: Array) -> Array:
    """Read `plane` [C, H, W] bilinearly at positions inside it.

    `channels`, `y` and `x` are broadcast against each other.
    """
    height, width = plane.shape[1:]
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    down, along = y - top, x - left
    upper = plane[channels, top, left] * (1 - along) + plane[channels, top, right] * along
    lower = plane[channels, bottom, left] * (1 - along) + plane[channels, bottom, right] * along
    result: Array = upper * (1 - down) + lower * down
    return result


def roi_align_rotated(
    height: int, width: int, ratio: int, scale: float, *, clockwise: bool
) -> Function:
    """Make a kernel for ROI align with rotated regions.

    The kernel takes the data, the regions [R, 5] (centre x, centre y, width, height, angle
    in radians) and the index of the image for each region [R]. Each of height x width bins
    is the mean of `ratio` samples per axis; a `ratio` of 0 means about one sample per element.
    """

    def apply(data: Array, rois: Array, items: Array) -> Any:
        result = np.zeros((len(rois), data.shape[1], height, width), dtype=data.dtype)
        rows, columns = data.shape[2:]
        channels = np.arange(data.shape[1])[:, None, None]
        for region, (x, y, *sides, angle) in enumerate(rois.astype(np.float64).tolist()):
            turn = -angle if clockwise else angle
            wide, high = (side * scale for side in sides)
            across = ratio or max(math.ceil(wide / width), 0)
            down = ratio or max(math.ceil(high / height), 0)
            if not across or not down:
                continue
            samples = width * across * height * down
            budget.spend(50, "reading regions")
            budget.reserve(samples * (100 + 16 * data.shape[1]), "the samples of a region")
            spend_each(samples, 100 + 20 * data.shape[1], "the samples of a region")
            # Sample positions along both sides of the region, relative to its centre.
            along_x = ((np.arange(width * across) + 0.5) / (width * across) - 0.5) * wide
            along_y = ((np.arange(height * down) + 0.5) / (height * down) - 0.5)[:, None] * high
            place_y = along_y * math.cos(turn) - along_x * math.sin(turn) + y * scale - 0.5
            place_x = along_y * math.sin(turn) + along_x * math.cos(turn) + x * scale - 0.5
            inside = (place_x >= -1) & (place_x <= columns) & (place_y >= -1) & (place_y <= rows)
            place_x, place_y = np.clip(place_x, 0, columns - 1), np.clip(place_y, 0, rows - 1)
            plane = widened(data[int(items.reshape(-1)[region])])
            values = np.where(inside, _read(plane, channels, place_y, place_x), 0)
            binned = values.reshape(len(plane), height, down, width, across)
            result[region] = binned.mean(axis=(2, 4))
        return result

    return apply


def deformable_psroi(
    outputs: int, group: int, bins: tuple[int, int], scale: float, part: int, spread: float
) -> Function:
    """Make a kernel that pools regions [R, 5] to [R, outputs, group, group], with shifted bins.

    A region is (item, x1, y1, x2, y2). Its coordinates times `scale` are positions in the feature
    map. A region has `group` x `group` bins for each output, and each bin reads a channel of its
    own. A bin takes a grid of `bins` (rows, columns) samples; its value is the mean of the samples
    inside the map.

    The optional operand 2, [R, 2 * K, part, part], shifts the bins. The outputs are divided into K
    groups with a vertical and a horizontal shift each, and the region into `part` x `part` cells. A
    shift times `spread` is a fraction of the size of the region.
    """

    def moved(offsets: Array, region: int) -> tuple[Array, Array]:
        """Return the vertical and the horizontal shift of each bin of `region`.

        Each is [outputs, group, group], in multiples of the size of the region.
        """
        pairs = widened(offsets[region]).astype(np.float64).reshape(-1, 2, part, part) * spread
        place = np.arange(group) * part // group
        kinds = np.arange(outputs) // (outputs // len(pairs))
        own = pairs[kinds][:, :, place][:, :, :, place]
        return own[:, 1], own[:, 0]

    def one(plane: Array, box: Array, shift_y: Array | float, shift_x: Array | float) -> Array:
        rows, columns = plane.shape[1:]
        (x1, y1), (x2, y2) = box
        wide, high = max(x2 - x1, 0.1), max(y2 - y1, 0.1)
        index = np.arange(group)
        y = y1 + index[:, None] * (high / group) + np.asarray(shift_y) * high
        x = x1 + index * (wide / group) + np.asarray(shift_x) * wide
        step_y = np.arange(bins[0])[:, None] * (high / group / bins[0])
        step_x = np.arange(bins[1]) * (wide / group / bins[1])
        # The samples of a bin are the last two axes.
        place_y, place_x = np.broadcast_arrays(
            np.broadcast_to(y, (outputs, group, group))[..., None, None] + step_y,
            np.broadcast_to(x, (outputs, group, group))[..., None, None] + step_x,
        )
        inside = (place_y >= -0.5) & (place_y <= rows - 0.5)
        inside = inside & (place_x >= -0.5) & (place_x <= columns - 0.5)
        channels = np.arange(outputs * group * group).reshape(outputs, group, group, 1, 1)
        values = _read(
            plane, channels, np.clip(place_y, 0, rows - 1), np.clip(place_x, 0, columns - 1)
        )
        total = np.where(inside, values, 0).sum(axis=(3, 4))
        return np.asarray(total / np.maximum(inside.sum(axis=(3, 4)), 1))

    def apply(data: Array, rois: Array, offsets: Array | None = None) -> Any:
        result = np.zeros((len(rois), outputs, group, group), dtype=data.dtype)
        samples = outputs * group * group * bins[0] * bins[1]
        budget.reserve(200 * samples, "the samples of a region")
        spend_each(len(rois), 200_000 + 200 * samples, "reading regions")
        for region, (image, *bounds) in enumerate(rois.astype(np.float64)):
            if image < 0:
                break
            rounded = np.sign(bounds) * np.floor(np.abs(bounds) + 0.5)
            box = np.add(rounded.reshape(2, 2), [[0], [1]]) * scale - 0.5
            shifts = (0.0, 0.0) if offsets is None else moved(offsets, region)
            result[region] = one(widened(data[int(image)]), box, *shifts)
        return result

    return apply
