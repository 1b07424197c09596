"""Computes depthwise convolution (one filter for each channel) with products of small matrices.

A tile is a few neighbouring rows of one channel of the result; one matrix product computes a tile.
Each row of the left matrix holds the filter of the channel and is zero elsewhere. From one row to
the next, the filter moves to the right by the stride. The right matrix holds the image rows that
the tile needs, with one copy for each column of the kernel: the copy is shifted by that column and
cut to the width of the result. Multiplying by the zeros takes less time than further passes over
memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.kernels.blocks import OverStep, overwrite
from irloop.kernels.geometry import Window, places_inside

__all__ = ["in_tiles"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The number of rows of a tile, and the number of elements that the shifted images of a block of
#: channels may have.
_ROWS, _BLOCK = 4, 1 << 17


def in_tiles(
    x: Array,
    w: Array,
    window: Window,
    begins: tuple[int, ...],
    fill: Any,
    bias: Array | None,
    then: OverStep | None,
    target: Array,
) -> bool:
    """Fill `target` [C, rows, columns] with the depthwise convolution of an image.

    The image `x` is [C, H, W], the filters `w` are [C, positions], `bias` is [C, 1, 1]. `begins` is
    the padding at the beginning of each axis, and `fill` its value. `then` is applied to the
    result. Several rows of the result are computed by one matrix product, in which zeros pad the
    filters.

    Returns:
        False if a sum is NaN; the caller then has to fill `target` in another way. An infinity
        times one of these zeros is NaN, even in a row that does not read the infinity.
    """
    height, width = target.shape[1:]
    rows, step = min(_ROWS, height), window.strides[0]
    filters = _left_operands(w.reshape(len(w), *window.kernel), window, rows)
    images = _Shifted(x, window, begins, (height, width), fill)
    tiles = height // rows
    done = tiles * rows
    for first in range(0, len(x), images.most):
        block = images.block(first)
        left, made = filters[first : first + len(block)], target[first : first + len(block)]
        np.matmul(
            left, _right_operands(block, rows, tiles, window), out=_as_tiles(made, rows, tiles)
        )
        if done < height:
            rest = _right_operands(block, height - done, 1, window, done * step)
            np.matmul(left[:, :, : height - done, : rest.shape[2]], rest, out=made[:, None, done:])
        if np.isnan(np.add.reduce(made, axis=None)):
            return False
        if bias is not None:
            np.add(made, bias[first : first + len(block)], out=made)
        if then is not None:
            overwrite(then, made)
    return True


class _Shifted:
    """Copies what each column of the kernel reads from the padded images, block by block.

    A block holds at most `most` channels. Its array is [channels, image rows, kernel columns,
    columns of the result]: the last axis holds the elements that one kernel column reads in one
    image row. All blocks use the same array, so the padding is written only once.
    """

    def __init__(
        self, x: Array, window: Window, begins: tuple[int, ...], counts: tuple[int, ...], fill: Any
    ) -> None:
        rows = (counts[0] - 1) * window.strides[0] + window.extent(0)
        shape = rows, window.kernel[1], counts[1]
        self.most = min(len(x), max(1, _BLOCK // (shape[0] * shape[1] * shape[2])))
        self._x = x
        self._made = np.empty((self.most, *shape), x.dtype)
        stride, self._pairs = window.strides[1], list[tuple[Array, tuple[slice, slice]]]()
        low, high, top = places_inside(-begins[0], 1, rows, x.shape[1])
        self._made[:, :low] = fill
        self._made[:, high:] = fill
        for column in range(shape[1]):
            start = column * window.dilations[1] - begins[1]
            first, last, left = places_inside(start, stride, counts[1], x.shape[2])
            image = self._made[:, :, column]
            image[:, low:high, :first] = fill
            image[:, low:high, last:] = fill
            if first < last:
                taken = slice(left, left + (last - first - 1) * stride + 1, stride)
                place = slice(top, top + high - low), taken
                self._pairs.append((image[:, low:high, first:last], place))

    def block(self, first: int) -> Array:
        """Return the padded images of up to `most` channels, starting at channel `first`.

        The next call overwrites the returned array.
        """
        count = min(self.most, len(self._x) - first)
        for target, place in self._pairs:
            target[:count] = self._x[(slice(first, first + count), *place)]
        return self._made[:count]


def _left_operands(w: Array, window: Window, rows: int) -> Array:
    """Arrange the filters `w` as left operands of matrix products.

    `w` is [C, kernel rows, kernel columns]. Each product computes `rows` rows of the result from n
    rows of the image. The returned array is [C, 1, rows, n * (kernel columns)]: its row i holds the
    filter, moved down by i strides of the window, and zeros elsewhere.
    """
    columns = w.shape[2]
    span = (rows - 1) * window.strides[0] + window.extent(0)
    made = np.zeros((len(w), 1, rows, span * columns), w.dtype)
    channel, _, row, element = made.strides
    line = columns * element
    strides = channel, row + window.strides[0] * line, window.dilations[0] * line, element
    places: Array = np.ndarray((len(w), rows, *w.shape[1:]), w.dtype, made, 0, strides)
    places[...] = w[:, None]
    return made


def _right_operands(images: Array, rows: int, count: int, window: Window, first: int = 0) -> Array:
    """Return the right operands of the matrix products that compute a depthwise convolution.

    Each product computes a tile, `rows` rows of the result of one channel. There are `count` tiles
    per channel; the first tile reads the images from row `first` on. The operands are a view of the
    images with shape [C, count, image rows * kernel columns, W].
    """
    span = (rows - 1) * window.strides[0] + window.extent(0)
    channel, row, line, element = images.strides
    shape = len(images), count, span * images.shape[2], images.shape[3]
    strides = channel, rows * window.strides[0] * row, line, element
    # This call is several times as fast as `as_strided`, which matters if there are many blocks.
    return np.ndarray(shape, images.dtype, images, first * row, strides)


def _as_tiles(made: Array, rows: int, count: int) -> Array:
    """View the first `count` * `rows` rows of `made` [C, H, W] as tiles [C, count, rows, W]."""
    channel, row, element = made.strides
    shape = len(made), count, rows, made.shape[2]
    return np.ndarray(shape, made.dtype, made, 0, (channel, rows * row, row, element))
