"""Kernels that pick elements by index."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from irloop.kernels.work import spend_each

__all__ = [
    "compress",
    "coordinates",
    "gather_along",
    "gather_axis",
    "gather_batched",
    "gather_elements",
    "gather_nd",
    "gather_plain",
    "gather_tree",
]

Array = np.ndarray[Any, np.dtype[Any]]


def gather_along(axis: int) -> Callable[[Array, Array], Array]:
    """Return a kernel that takes the slices of the data at the indices along `axis`.

    Negative indices count from the end.
    """

    def run(data: Array, indices: Array) -> Array:
        return np.take(data, indices, axis)

    return run


def gather_plain(data: Array, indices: Array, axis: Array) -> Array:
    """Gather slices of `data` along an axis; `axis` is an array with one element."""
    return np.take(data, indices, int(axis.reshape(-1)[0]))


def gather_axis(batch_dims: int) -> Callable[[Array, Array, Array], Array]:
    """Make a Gather kernel whose third operand is the axis.

    The first `batch_dims` axes of data and indices are batch axes.
    """
    if batch_dims == 0:
        return gather_plain

    def run(data: Array, indices: Array, axis: Array) -> Array:
        at = int(axis.reshape(-1)[0]) % data.ndim
        batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
        return gather_batched(data, indices, at, batch)

    return run


def gather_batched(data: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    """Gather the elements of `data` at `indices` along `axis`, separately for each batch item.

    The first `batch_dims` axes of `data` and of `indices` are the batch axes. In the result, the
    other axes of `indices` replace `axis` of `data`: data [b, n, d] and indices [b, m] give
    [b, m, d] for axis 1 and one batch axis.
    """
    if batch_dims == 0:
        return np.take(data, indices, axis)
    batch, before = data.shape[:batch_dims], data.shape[batch_dims:axis]
    after = data.shape[axis + 1 :]
    count = math.prod(batch)
    flat = data.reshape(count, math.prod(before), data.shape[axis], math.prod(after))
    chosen = indices.reshape(count, math.prod(indices.shape[batch_dims:]))
    # The two index arrays are not adjacent, so NumPy puts their axes first.
    found = flat[np.arange(count)[:, None], :, chosen].swapaxes(1, 2)
    return found.reshape(batch + before + indices.shape[batch_dims:] + after)


@lru_cache(maxsize=256)
def _grid(shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Return open coordinate grids (`numpy.ogrid`), one array per axis.

    The grids are cached, because each iteration of a loop asks for the same shapes.
    """
    return tuple(np.ogrid[tuple(slice(dim) for dim in shape)])


def coordinates(indices: Array, axis: int) -> tuple[Array, ...]:
    """Return an array of coordinates for each axis; together they address one element per index.

    Along `axis` the coordinate of the element is the index. Along the other axes it is the position
    of the index in `indices`.
    """
    grid = _grid(indices.shape)
    at = axis % indices.ndim
    return (*grid[:at], indices, *grid[at + 1 :])


def gather_elements(axis: int) -> Callable[[Array, Array], Array]:
    """Make a kernel of GatherElements, which takes one element of the data for each index.

    For a matrix and axis 0, ``result[i, j] = data[indices[i, j], j]``.
    """

    def run(data: Array, indices: Array) -> Array:
        found: Array = data[coordinates(indices, axis)]
        return found

    return run


def _gather_nd_plain(data: Array, indices: Array) -> Array:
    depth = indices.shape[-1]
    if depth == 0:
        return np.broadcast_to(data, indices.shape[:-1] + data.shape)
    found: Array = data[tuple(indices[..., at] for at in range(depth))]
    return found


def gather_nd(batch_dims: int, merge: bool = False) -> Callable[[Array, Array], Array]:
    """Make a kernel of GatherND, which takes the slices at given coordinates.

    The last axis of the indices holds the coordinates. The first `batch_dims` axes of data
    and indices are batch axes. With `merge`, the batch axes of the result are merged into
    one (GatherND-5).
    """

    if batch_dims == 0:
        return _gather_nd_plain

    def run(data: Array, indices: Array) -> Array:
        count = math.prod(data.shape[:batch_dims])
        depth = indices.shape[-1]
        inner = indices.shape[batch_dims:-1]
        rows = indices.reshape(count, math.prod(inner), depth)
        flat = data.reshape(count, *data.shape[batch_dims:])
        batch = np.broadcast_to(np.arange(count)[:, None], rows.shape[:2])
        gathered: Array = flat[(batch, *(rows[..., at] for at in range(depth)))]
        lead = indices.shape[:batch_dims]
        if merge and batch_dims > 1:
            lead = (count,)
        return gathered.reshape((*lead, *inner, *data.shape[batch_dims + depth :]))

    return run


def gather_tree(ids: Array, parents: Array, lengths: Array, end_token: Array) -> Array:
    """Return the full beams of a beam search, traced back through its steps (GatherTree-1).

    `ids` and `parents` are [steps, batch, beams]; `lengths` holds the length of the longest beam of
    each batch item. Everything after a beam's first end token becomes end tokens.
    """
    steps, batch, beams = ids.shape
    end = end_token.reshape(-1)[0].astype(ids.dtype)
    last = np.minimum(steps, lengths.reshape(-1, 1).astype(np.int64)) - 1
    result = np.full_like(ids, end)
    spend_each(steps, 25_000 + 30 * batch * beams, "following beams")
    rows = np.arange(batch)[:, None]
    beam = np.broadcast_to(np.arange(beams), (batch, beams))
    for step in range(steps - 1, -1, -1):
        active = step <= last
        result[step] = np.where(active, ids[step][rows, beam], end)
        beam = np.where(active, parents[step][rows, beam].astype(np.int64), beam)
    ended = np.cumsum(result == end, axis=0) > 0
    return np.where(ended, end, result)


def compress(axis: int | None) -> Callable[[Array, Array], Array]:
    """Make a Compress kernel: it keeps the slices along `axis` where the condition is true.

    If `axis` is None, it keeps elements of the flattened data.
    """

    def run(data: Array, condition: Array) -> Array:
        return np.compress(condition.reshape(-1), data, axis=axis)

    return run
