"""Kernels that sort, search and accumulate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.work import spend_each

__all__ = [
    "arg_extreme",
    "bucketize",
    "nonzero",
    "running_product",
    "running_sum",
    "search_sorted",
    "topk",
    "topk_by_input",
    "unique",
    "unique_by_input",
]

Array = np.ndarray[Any, np.dtype[Any]]


def _ranking(data: Array, axis: int, largest: bool) -> Array:
    """Positions along `axis`, ordered from best to worst; equal elements keep their order."""
    if not largest:
        return np.argsort(data, axis, kind="stable")
    turned = np.argsort(np.flip(data, axis), axis, kind="stable")
    order: Array = data.shape[axis] - 1 - np.flip(turned, axis)
    return order


def topk(
    axis: int, largest: bool, by_index: bool, index: np.dtype[Any]
) -> Callable[[Array, int], tuple[Array, Array]]:
    """Make a kernel that finds the `k` best elements along `axis` and their positions.

    The kernel takes the data and `k`. The best elements are the largest ones or, without `largest`,
    the smallest ones. Of equal elements, the first is better. The results are ordered from best to
    worst or, with `by_index`, by position. `index` is the type of the positions.
    """

    find: Callable[..., Array] = np.argmax if largest else np.argmin

    def run(data: Array, k: int) -> tuple[Array, Array]:
        if k == 1 and data.shape[axis]:
            chosen = find(data, axis, keepdims=True)
            return np.take_along_axis(data, chosen, axis), chosen.astype(index)
        budget.reserve(40 * data.size, "the order of all elements")
        spend_each(data.size, 300, "the order of all elements")
        ranking = _ranking(data, axis, largest)
        chosen = ranking[(slice(None),) * (axis % data.ndim) + (slice(k),)]
        if by_index:
            chosen = np.sort(chosen, axis)
        return np.take_along_axis(data, chosen, axis), chosen.astype(index)

    return run


def topk_by_input(
    axis: int, largest: bool, by_index: bool, index: np.dtype[Any]
) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Make a kernel that finds the `k` best elements along `axis`; `k` is an operand.

    `k` is an array of one element. The parameters are those of `topk`.
    """
    run = topk(axis, largest, by_index, index)
    return lambda data, k: run(data, int(k.reshape(-1)[0]))


def arg_extreme(axis: int, largest: bool, keep: bool, last: bool) -> Callable[[Array], Array]:
    """Make a kernel that finds the i64 position of the largest or smallest element along `axis`.

    Of several equal elements, the first counts or, with `last`, the last. With `keep`, the axis
    stays with size 1.
    """
    find: Callable[..., Array] = np.argmax if largest else np.argmin

    def run(data: Array) -> Array:
        if not last:
            return find(data, axis, keepdims=keep)
        turned: Array = data.shape[axis] - 1 - find(np.flip(data, axis), axis, keepdims=keep)
        return turned

    return run


def nonzero(dtype: np.dtype[Any], *, scalar_is_list: bool) -> Callable[[Array], Array]:
    """Make a kernel that returns the coordinates of the elements that are not 0: [rank, count].

    With `scalar_is_list`, a scalar counts as a list of one element; otherwise it has no
    coordinates.
    """

    def run(data: Array) -> Array:
        if data.ndim == 0 and not scalar_is_list:
            return np.zeros((0, int(bool(data))), dtype)
        budget.reserve(2 * 8 * data.ndim * int(np.count_nonzero(data)), "coordinates of elements")
        return np.array(np.nonzero(np.atleast_1d(data)), dtype=dtype)

    return run


def running_sum(exclusive: bool, reverse: bool) -> Callable[..., Array]:
    """Make a kernel that computes running sums along the axis in its second input.

    If that input is missing, the sums run along the first axis. With `exclusive`, the sum
    at a position leaves out the element at this position. With `reverse`, the sums begin at
    the end of the axis.
    """
    return _running(np.cumsum, 0, exclusive, reverse)


def running_product(exclusive: bool, reverse: bool) -> Callable[..., Array]:
    """Make a kernel that computes running products along an axis.

    The parameters are those of `running_sum`, which does the same for sums.
    """
    return _running(np.cumprod, 1, exclusive, reverse)


def _running(
    function: Callable[..., Array], neutral: int, exclusive: bool, reverse: bool
) -> Callable[..., Array]:
    def run(data: Array, axis: Array | None = None) -> Array:
        along = 0 if axis is None else int(axis.reshape(-1)[0])
        turned = np.flip(data, along) if reverse else data
        with np.errstate(over="ignore", invalid="ignore"):
            result = function(turned, axis=along, dtype=data.dtype)
        if exclusive and data.shape[along]:
            first = np.full_like(np.take(result, [0], along), neutral)
            rest = np.take(result, np.arange(data.shape[along] - 1), along)
            result = np.concatenate([first, rest], along)
        return np.flip(result, along) if reverse else result

    return run


def bucketize(right: bool, dtype: np.dtype[Any]) -> Callable[[Array, Array], Array]:
    """Make a kernel that counts the sorted bounds below each element.

    Without `right`, it also counts bounds equal to the element.
    """
    side: Any = "left" if right else "right"

    def run(data: Array, bounds: Array) -> Array:
        spend_each(data.size, 150, "searching in sorted elements")
        common = np.result_type(data.dtype, bounds.dtype) if bounds.size else data.dtype
        found = np.searchsorted(bounds.astype(common), data.astype(common), side=side)
        return np.asarray(found).astype(dtype).reshape(data.shape)

    return run


def search_sorted(right: bool, dtype: np.dtype[Any]) -> Callable[[Array, Array], Array]:
    """Make a kernel for SearchSorted, which returns the position at which to insert each value.

    `table` [..., n] is sorted along its last axis, and each row of `values` [..., m] is searched in
    the same row of `table`; a `table` [n] serves all rows. The result is [..., m]. With `right`, a
    value is inserted after equal elements, otherwise before them.
    """

    def run(table: Array, values: Array) -> Array:
        rounds = table.shape[-1].bit_length()
        spend_each(values.size * rounds, 50, "searching in sorted elements")
        budget.reserve(80 * values.size, "searching in sorted elements")
        rows = np.broadcast_to(table, (*values.shape[:-1], table.shape[-1]))
        low = np.zeros(values.shape, dtype=np.int64)
        high = np.full(values.shape, table.shape[-1], dtype=np.int64)
        while (low < high).any():
            middle = (low + high) // 2
            inside = np.minimum(middle, max(table.shape[-1] - 1, 0))
            found = np.take_along_axis(rows, inside, -1)
            behind = found <= values if right else found < values
            open_ = low < high
            low = np.where(open_ & behind, middle + 1, low)
            high = np.where(open_ & ~behind, middle, high)
        return low.astype(dtype)

    return run


def unique(
    axis: int | None, in_order: bool, index: np.dtype[Any], count: np.dtype[Any]
) -> Callable[[Array], tuple[Array, Array, Array, Array]]:
    """Make a kernel that returns distinct elements, first positions, inverse indices and counts.

    It compares slices along `axis`, or single elements if `axis` is None. With `in_order` the
    result is sorted; otherwise it is in the order of first occurrence. Positions and inverse
    indices have the type `index`, counts the type `count`.
    """

    def run(data: Array) -> tuple[Array, Array, Array, Array]:
        budget.reserve(72 * data.size, "the distinct elements")
        spend_each(data.size, 600, "the distinct elements")
        flat = data.reshape(-1) if axis is None else data
        along = 0 if axis is None else axis
        values, first, inverse, counts = np.unique(
            flat, return_index=True, return_inverse=True, return_counts=True, axis=along
        )
        inverse = inverse.reshape(-1)
        if not in_order:
            order = np.argsort(first, kind="stable")
            values, first, counts = np.take(values, order, along), first[order], counts[order]
            inverse = np.argsort(order, kind="stable")[inverse]
        return values, first.astype(index), inverse.astype(index), counts.astype(count)

    return run


def unique_by_input(
    in_order: bool, index: np.dtype[Any], count: np.dtype[Any]
) -> Callable[..., tuple[Array, Array, Array, Array]]:
    """Make a kernel that returns distinct elements, first positions, inverse indices and counts.

    The axis is an optional operand of the kernel. The parameters are those of `unique`.
    """

    def run(data: Array, axis: Array | None = None) -> tuple[Array, Array, Array, Array]:
        at = None if axis is None else int(axis.reshape(-1)[0])
        return unique(at, in_order, index, count)(data)

    return run
