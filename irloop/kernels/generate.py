"""Kernels that create tensors: ranges, fills, windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.lists import listed

__all__ = [
    "eye",
    "eye_like",
    "fill",
    "mel_weight_matrix",
    "one_hot",
    "one_hot_values",
    "range_as",
    "range_in",
    "range_of",
    "window",
    "zeros",
]

Array = np.ndarray[Any, np.dtype[Any]]


def range_of(start: Array, limit: Array, delta: Array) -> Array:
    """Numbers from `start` up to, but excluding, `limit` in steps of `delta`."""
    dtype = start.dtype
    first, last, step = start.reshape(-1)[0], limit.reshape(-1)[0], delta.reshape(-1)[0]
    if dtype.kind in "iu":
        count = len(range(int(first), int(last), int(step)))
    else:
        # The difference is computed in the operands' type, as the runtimes do.
        count = max(0, math.ceil(float(last - first) / float(step)))
    numbers: Array = np.arange(count).astype(dtype, copy=False)
    with np.errstate(over="ignore"):
        np.multiply(numbers, step, out=numbers)
        np.add(numbers, first, out=numbers)
    return numbers


def range_in(stash: np.dtype[Any]) -> Callable[[Array, Array, Array], Array]:
    """Make a kernel of Range: numbers from `start` up to, but excluding, `limit`.

    16-bit floats are computed in the type `stash` and converted back.
    """

    def run(start: Array, limit: Array, delta: Array) -> Array:
        if start.dtype.itemsize != 2 or start.dtype.kind in "iu":
            return range_of(start, limit, delta)
        wide = (item.astype(stash) for item in (start, limit, delta))
        return range_of(*wide).astype(start.dtype)

    return run


def range_as(dtype: np.dtype[Any]) -> Callable[[Array, Array, Array], Array]:
    """Make a kernel of Range: numbers from `start` up to, but excluding, `stop`.

    Start, stop and step are cast to `dtype` before the numbers are computed.
    """

    def run(start: Array, stop: Array, step: Array) -> Array:
        return range_of(start.astype(dtype), stop.astype(dtype), step.astype(dtype))

    return run


def fill(value: Array) -> Callable[[Array], Array]:
    """A kernel that takes a shape and returns a tensor of that shape, filled with `value`."""
    item = value.reshape(-1)[0]

    def run(shape: Array) -> Array:
        return np.full(tuple(listed(shape)), item, dtype=value.dtype)

    return run


def zeros(shape: Array) -> Array:
    """f32 zeros; the shape is an input."""
    return np.zeros(tuple(listed(shape)), dtype=np.float32)


def eye(dtype: np.dtype[Any]) -> Callable[..., Array]:
    """Make a kernel that returns matrices with ones on one diagonal and zeros elsewhere.

    The kernel takes the numbers of rows and columns, the number of the diagonal and,
    optionally, the batch shape.
    """

    def run(rows: Array, columns: Array, shift: Array, batch: Array | None = None) -> Array:
        height, width, k = (int(item.reshape(-1)[0]) for item in (rows, columns, shift))
        matrix = np.eye(height, width, k, dtype=dtype)
        if batch is None:
            return matrix
        return np.broadcast_to(matrix, (*listed(batch), height, width))

    return run


def eye_like(k: int, dtype: np.dtype[Any] | None) -> Callable[[Array], Array]:
    """Make a kernel that returns a matrix in the shape of its operand, with ones on diagonal `k`.

    Its type is `dtype`, or the type of the operand if `dtype` is None.
    """

    def run(like: Array) -> Array:
        rows, columns = like.shape
        matrix: Array = np.eye(rows, columns, k, dtype=like.dtype if dtype is None else dtype)
        return matrix

    return run


def one_hot(axis: int, wrap: bool) -> Callable[[Array, Array, Array, Array], Array]:
    """Make a kernel for one-hot encoding along a new axis.

    The kernel takes the indices, the length of the new axis, and the values at the index (on) and
    elsewhere (off). With `wrap` a negative index counts from the end; without it, it matches no
    position.
    """

    def run(indices: Array, depth: Array, on: Array, off: Array) -> Array:
        size = int(depth.reshape(-1)[0])
        position = axis % (indices.ndim + 1)
        where = np.expand_dims(indices, position)
        if wrap:
            where = np.where(where < 0, where + size, where)
        counter = np.arange(size).reshape([-1] + [1] * (indices.ndim - position))
        hot = where == counter
        return np.where(hot, on.reshape(()), off.reshape(())).astype(on.dtype, copy=False)

    return run


def one_hot_values(axis: int) -> Callable[[Array, Array, Array], Array]:
    """Make a kernel for one-hot encoding, with the values [off, on] in one operand.

    Negative indices count from the end.
    """
    run = one_hot(axis, wrap=True)

    def pick(indices: Array, depth: Array, values: Array) -> Array:
        whole = indices.astype(np.int64)
        return run(whole, depth, values[1:2], values[0:1])

    return pick


_TERMS = {
    "Hann": (0.5, 0.5, 0.0),
    "Hamming": (25.0 / 46.0, 21.0 / 46.0, 0.0),
    "Blackman": (0.42, 0.5, 0.08),
}


def window(name: str, periodic: bool, dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """Make a kernel that returns a cosine window (Hann, Hamming, Blackman) of a given length."""
    first, second, third = _TERMS[name]

    def run(size: Array) -> Array:
        count = int(size.reshape(-1)[0])
        period = count if periodic else count - 1
        budget.reserve(40 * max(count, 0), "a window")
        angle = 2 * np.pi * np.arange(count) / (period or 1)
        wave = first - second * np.cos(angle) + third * np.cos(2 * angle)
        return np.asarray(wave).astype(dtype)

    return run


def mel_weight_matrix(dtype: np.dtype[Any]) -> Callable[..., Array]:
    """Make a kernel that returns the matrix that maps a spectrum to mel bins.

    The kernel takes the number of bins, the length of the DFT, the sample rate, and the lower and
    the upper edge in hertz. The matrix is [length // 2 + 1, bins].
    """

    def run(bins: Array, dft: Array, rate: Array, lower: Array, upper: Array) -> Array:
        count, length = int(bins.reshape(-1)[0]), int(dft.reshape(-1)[0])
        rows = length // 2 + 1
        budget.reserve(48 * rows * count, "a matrix of mel weights")
        edges = np.array([float(lower.reshape(-1)[0]), float(upper.reshape(-1)[0])])
        low, high = 2595 * np.log10(1 + edges / 700)
        mels = low + np.arange(count + 2) * ((high - low) / (count + 2))
        hertz = 700 * (np.power(10, mels / 2595) - 1)
        points = ((length + 1) * hertz // int(rate.reshape(-1)[0])).astype(np.int64)
        left, centre, right = points[:-2], points[1:-1], points[2:]
        row = np.arange(rows)[:, None]
        up = np.where(centre == left, row == centre, (row - left) / np.maximum(centre - left, 1))
        down = (right - row) / np.maximum(right - centre, 1)
        rising = (row >= left) & (row <= centre)
        falling = (row >= centre) & (row < right) & (right != centre)
        result = np.where(rising, up, 0.0)
        result = np.where(falling, down, result)
        return np.asarray(result).astype(dtype)

    return run
