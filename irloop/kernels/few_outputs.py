"""Convolution with few output channels: one matrix product, followed by shifted additions.

The filters are stacked, with one matrix [O, C] for each position of the kernel. A matrix product
multiplies this stack by a block of image rows, which are not copied. The part of the product that
belongs to a position is then added to the result, shifted by that position.

The usual im2col copies all input channels once for each position. This method stores only the few
output channels for each position.
"""

from __future__ import annotations

from itertools import product as all_of
from typing import Any

import numpy as np

from irloop.kernels.blocks import OverStep, overwrite
from irloop.kernels.geometry import Window, places_inside

__all__ = ["by_positions", "suits"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The products of a block of rows take about this many bytes.
_BLOCK_BYTES = 1 << 20
#: Images are left to other methods if the products of one row take more bytes than this.
_ROW_BYTES = 1 << 21
#: The method gains time if the data has at least this many times as many channels as the result.
_CHANNELS_PER_OUTPUT = 2


def suits(x: Array, w: Array, window: Window, fill: Any) -> bool:
    """Return whether `by_positions` is the fastest method for data `x` and filters `w`.

    The result is False for filters with infinite or NaN weights. `by_positions` skips the zeros of
    the padding, but the product of zero and such a weight is NaN, so the result would be wrong.
    """
    if x.ndim != 4 or not x.size or max(window.strides) > 1 or fill != 0:
        return False
    if len(w) * _CHANNELS_PER_OUTPUT > x.shape[1]:
        return False
    row = w.size // w.shape[1] * x.shape[3] * x.itemsize
    return row <= _ROW_BYTES and bool(np.isfinite(w).all())


def by_positions(
    x: Array,
    w: Array,
    window: Window,
    begins: tuple[int, ...],
    bias: Array | None,
    then: OverStep | None,
    target: Array,
) -> None:
    """Compute a convolution as one matrix product for each position of the kernel.

    The sum of these products, plus `bias`, is written into `target`. All strides are 1, and the
    padding consists of zeros.

    Args:
        x: the image [C, H, W].
        w: the filters [O, C, kernel height, kernel width].
        window: the kernel and its dilations.
        begins: the padding before the first row and before the first column.
        bias: [O, 1, 1], or None.
        then: an activation that overwrites the result, or None.
        target: the array for the result [O, rows, columns].
    """
    channels, height, width = x.shape
    count, kernel = len(w), window.kernel
    filters = np.ascontiguousarray(w.transpose(2, 3, 0, 1)).reshape(-1, channels)
    image = x.reshape(channels, -1)
    most = min(height, max(1, _BLOCK_BYTES // (len(filters) * width * x.itemsize)))
    room = np.empty(len(filters) * most * width, x.dtype)
    begun = done = 0
    for first in range(0, height, most):
        last = min(first + most, height)
        # Only the rows that this block reaches first, because they stay in the cache.
        reached = len(target[0]) if last == height else max(begun, last + begins[0])
        target[:, begun:reached] = 0 if bias is None else bias
        begun = reached
        made = room[: len(filters) * (last - first) * width].reshape(len(filters), -1)
        np.matmul(filters, image[:, first * width : last * width], out=made)
        parts = made.reshape(*kernel, count, last - first, width)
        for row, column in all_of(*map(range, kernel)):
            offset = row * window.dilations[0] - begins[0] - first
            low, high, top = places_inside(offset, 1, target.shape[1], last - first)
            start = column * window.dilations[1] - begins[1]
            begin, end, left = places_inside(start, 1, target.shape[2], width)
            place = target[:, low:high, begin:end]
            taken = parts[row, column, :, top : top + high - low, left : left + end - begin]
            np.add(place, taken, out=place)
        if then is not None:
            # The rows that later blocks do not reach.
            complete = max(done, last + begins[0] - window.extent(0) + 1)
            complete = len(target[0]) if last == height else complete
            overwrite(then, target[:, done:complete])
            done = complete
