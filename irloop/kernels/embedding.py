"""Kernels for embedding bags and segment reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.work import spend_each

__all__ = [
    "bags_by_offsets",
    "bags_by_segments",
    "packed_bags",
    "segment_maximum",
    "sparse_fill_empty_rows",
]

Array = np.ndarray[Any, np.dtype[Any]]


def _weighted(rows: Array, weights: Array | None) -> Array:
    if weights is None:
        return rows
    return rows * weights.reshape(weights.shape + (1,) * (rows.ndim - weights.ndim))


def _reserve(table: Array, indices: Array) -> None:
    """Reserve the memory of the gathered rows, and charge the budget for the time to sum them."""
    elements = indices.size * math.prod(table.shape[1:])
    budget.reserve(3 * table.itemsize * elements, "the rows of an embedding")
    spend_each(elements, 10, "the rows of an embedding")


def packed_bags(mean: bool) -> Callable[..., Array]:
    """Return a kernel that sums the embeddings of each bag; with `mean`, it averages them.

    The kernel takes a table [entries, ...], indices [batch, size] and, optionally, one weight for
    each index. Each row of indices is a bag: the table entries at these indices, multiplied by
    their weights, are summed. The mean is this sum divided by `size`.
    """

    def run(table: Array, indices: Array, weights: Array | None = None) -> Array:
        _reserve(table, indices)
        rows = _weighted(np.take(table, indices, 0), weights)
        total: Array = rows.sum(axis=1, dtype=rows.dtype)
        return total / np.array(indices.shape[1], rows.dtype) if mean else total

    return run


def _bags(
    table: Array,
    indices: Array,
    segments: Array,
    count: int,
    default: Array | None,
    weights: Array | None,
) -> tuple[Array, Array]:
    """Return the sum of the embeddings in each segment, and the number of embeddings in each.

    The sums are [count, ...] for `count` segments. Entry i of `indices` selects a row of `table`.
    This row is multiplied by entry i of `weights`, if weights are given, and added to the segment
    with the number in entry i of `segments`. Entries with a segment outside 0 ... count - 1 are
    left out. `default` is the index of the row of `table` that an empty segment gets. If `default`
    is None or negative, an empty segment gets zeros.
    """
    inside = (segments >= 0) & (segments < count)
    _reserve(table, indices)
    result = np.zeros((count, *table.shape[1:]), table.dtype)
    rows = _weighted(np.take(table, indices, 0), weights)
    np.add.at(result, segments[inside], rows[inside])
    sizes = np.bincount(segments[inside], minlength=count)
    if default is not None and int(default.reshape(-1)[0]) >= 0:
        result[sizes == 0] = table[int(default.reshape(-1)[0])]
    return result, sizes


def bags_by_offsets(mean: bool) -> Callable[..., Array]:
    """Make a kernel that returns the sum of the embeddings of each bag, or their mean if `mean`.

    The kernel's operand `offsets` holds the position in `indices` at which each bag starts.
    """

    def run(
        table: Array,
        indices: Array,
        offsets: Array,
        default: Array | None = None,
        weights: Array | None = None,
    ) -> Array:
        positions = np.arange(indices.size)
        segments = np.searchsorted(offsets, positions, side="right") - 1
        total, sizes = _bags(table, indices, segments, offsets.size, default, weights)
        if not mean:
            return total
        divisor = np.maximum(sizes, 1).astype(table.dtype)
        mean_of: Array = total / divisor.reshape(-1, *[1] * (total.ndim - 1))
        return mean_of

    return run


def bags_by_segments(
    table: Array,
    indices: Array,
    segments: Array,
    count: Array,
    default: Array | None = None,
    weights: Array | None = None,
) -> Array:
    """Sum the embeddings of each segment, and return the sums as [count, ...].

    `count` is the number of segments. For each entry of `indices`, `segments` holds the
    segment to which the embedding belongs, and `weights` the factor by which it is
    multiplied. `default` is the row of `table` that an empty segment gets; if it is
    negative or None, an empty segment gets zeros.
    """
    size = int(count.reshape(-1)[0])
    return _bags(table, indices, segments.astype(np.int64), size, default, weights)[0]


def segment_maximum(lowest: bool) -> Callable[..., Array]:
    """Make a kernel that returns the elementwise maximum over the slices of each segment.

    The elements of an empty segment are the lowest number of the type if `lowest`, else 0.
    """

    def run(data: Array, segments: Array, count: Array | None = None) -> Array:
        numbers = segments.astype(np.int64)
        size = int(numbers.max(initial=-1)) + 1 if count is None else int(count.reshape(-1)[0])
        limit = np.iinfo(data.dtype).min if data.dtype.kind in "iu" else -np.inf
        result = np.full((size, *data.shape[1:]), limit, data.dtype)
        inside = numbers < size
        np.maximum.at(result, numbers[inside], data[inside])
        empty = np.bincount(numbers[inside], minlength=size) == 0
        if not lowest:
            result[empty] = 0
        elif data.dtype.kind not in "iu":
            result[empty] = np.nextafter(np.array(-np.inf, data.dtype), np.array(0, data.dtype))
        return result

    return run


def sparse_fill_empty_rows(
    values: Array, dense_shape: Array, indices: Array, default: Array
) -> tuple[Array, Array, Array]:
    """Add an entry with the default value to every empty row of a sparse matrix.

    Indices are [count, 2]. Returns the indices sorted by row, the values in the same order, and a
    mask of the rows that were empty.
    """
    rows = int(dense_shape.reshape(-1)[0])
    budget.reserve(80 * max(rows, 0), "empty rows")
    empty = np.ones(rows, dtype=np.bool_)
    empty[indices[:, 0]] = False
    missing = np.flatnonzero(empty).astype(indices.dtype)
    added = np.stack([missing, np.zeros_like(missing)], axis=1)
    filled = np.concatenate([indices, added])
    filler = np.full(len(missing), default.reshape(-1)[0], dtype=values.dtype)
    order = np.argsort(filled[:, 0], kind="stable")
    return filled[order], np.concatenate([values, filler])[order], empty
