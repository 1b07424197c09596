"""Convolution of images with long rows: one matrix product for each row of the result.

The image is copied once for each column of the kernel, shifted and cut to the width of the result,
and arranged as [image row, channel, kernel column, W of the result]. The image rows that a row of
the result needs are then adjacent in memory. They are the right operand of the product for this row
without another copy. The usual im2col would copy the image once for each position of the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from irloop.kernels.blocks import OverStep, overwrite
from irloop.kernels.geometry import Window, places_inside

__all__ = ["in_rows"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The rows that are copied at a time take about this many bytes.
_BLOCK_BYTES = 1 << 19


def in_rows(
    x: Array,
    w: Array,
    window: Window,
    begins: tuple[int, ...],
    fill: Any,
    bias: Array | None,
    then: OverStep | None,
    target: Array,
) -> None:
    """Write the convolution of an image [C, H, W] with filters [O, C, kernel] into `target`.

    `target` is [O, rows, columns], `bias` is [O, 1, 1], and `begins` is the padding at the
    beginning of each axis. The rows of the kernel must not be dilated. `then` is applied to the
    result.
    """
    height, width = target.shape[1:]
    stride, (tall, wide) = window.strides[0], window.kernel
    filters = np.ascontiguousarray(w.transpose(0, 2, 1, 3)).reshape(len(w), -1)
    line = len(x) * wide * width
    most = min(height, max(1, _BLOCK_BYTES // (line * stride * x.itemsize)))
    copies = np.empty(((most - 1) * stride + tall, len(x), wide, width), x.dtype)
    pairs = _shifted(x.swapaxes(0, 1), copies, window, begins[1], fill)
    for first in range(0, height, most):
        count = min(most, height - first)
        needed = (count - 1) * stride + tall
        low, high, top = places_inside(first * stride - begins[0], 1, needed, x.shape[1])
        for image, source in pairs:
            image[:low] = fill
            image[low:high] = source[top : top + high - low]
            image[high:needed] = fill
        operands = as_strided(
            copies,
            (count, tall * len(x) * wide, width),
            (stride * copies.strides[0], *copies.strides[2:]),
            writeable=False,
        )
        made = target[:, first : first + count]
        np.matmul(filters, operands, out=made.swapaxes(0, 1))
        if bias is not None:
            np.add(made, bias, out=made)
        if then is not None:
            overwrite(then, made)


def _shifted(
    rows: Array, copies: Array, window: Window, begin: int, fill: Any
) -> list[tuple[Array, Array]]:
    """Prepare one shifted copy of the image rows for each column of the kernel.

    `rows` is [H, C, W], `copies` is [rows of a block, C, columns of the kernel, output columns],
    and `begin` is the padding before a row. This function writes only the padding, `fill`, into
    `copies`, because it is the same for every block of rows.

    Returns one pair (target, source) of views for each column of the kernel. The target is the part
    of the copy between the paddings, for all rows of a block. The source is the part of `rows` that
    belongs there; the caller copies it block by block.
    """
    stride, width = window.strides[1], copies.shape[3]
    pairs = []
    for column in range(window.kernel[1]):
        start = column * window.dilations[1] - begin
        low, high, left = places_inside(start, stride, width, rows.shape[2])
        image = copies[:, :, column]
        image[..., :low] = fill
        image[..., high:] = fill
        taken = slice(left, left + max(high - low - 1, 0) * stride + 1, stride)
        pairs.append((image[..., low:high], rows[..., taken][..., : high - low]))
    return pairs
