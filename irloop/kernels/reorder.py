"""Kernels that reverse or roll elements along axes, or keep one triangle of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels.lists import listed

__all__ = ["reverse_axes", "reverse_masked", "reverse_sequence", "roll", "triangle"]

Array = np.ndarray[Any, np.dtype[Any]]


def reverse_axes(data: Array, axes: Array) -> Array:
    """Reverse the elements along the listed axes."""
    return np.flip(data, tuple(listed(axes)))


def reverse_masked(data: Array, mask: Array) -> Array:
    """Reverse the elements along the axes whose mask is true."""
    return np.flip(data, tuple(np.flatnonzero(mask).tolist()))


def reverse_sequence(batch: int, time: int) -> Callable[[Array, Array], Array]:
    """Make a kernel that reverses the first lengths[i] elements of each batch item i.

    `batch` is the axis of the batch items, and `time` the axis along which elements are reversed.
    The kernel takes the data and the lengths. Elements after the first lengths[i] stay in place.
    """

    def run(data: Array, lengths: Array) -> Array:
        batch_axis, time_axis = batch % data.ndim, time % data.ndim
        steps = np.arange(data.shape[time_axis])
        count = lengths.reshape(-1, 1).astype(np.int64)
        order = np.where(steps < count, count - 1 - steps, steps)
        if batch_axis > time_axis:
            order = order.T
        shape = [1] * data.ndim
        shape[batch_axis], shape[time_axis] = data.shape[batch_axis], data.shape[time_axis]
        return np.take_along_axis(data, order.reshape(shape), time_axis)

    return run


def roll(data: Array, shift: Array, axes: Array) -> Array:
    """Roll elements along axes; the shifts of an axis that is listed twice add up."""
    return np.roll(data, tuple(listed(shift)), tuple(listed(axes)))


def triangle(upper: bool) -> Callable[..., Array]:
    """Return a function that keeps one triangle of matrices and fills the rest with zeros.

    With `upper`, it is the upper triangle, otherwise the lower triangle. The function takes data
    [..., rows, columns] and, optionally, the number k of the diagonal that bounds the triangle: 0
    is the main diagonal, and a positive k lies above it.
    """
    keep: Callable[..., Array] = np.triu if upper else np.tril

    def run(data: Array, k: Array | None = None) -> Array:
        return keep(data, 0 if k is None else int(k.reshape(-1)[0]))

    return run
