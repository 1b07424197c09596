"""Pooling over any number of spatial axes; data is [N, C, spatial...].

Sums and maxima are taken axis by axis over shifted views, so that the work grows with the sum of
the kernel sizes, not with their product.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.convolution import padded, windows
from irloop.kernels.geometry import Window, places_inside
from irloop.kernels.lists import listed
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_windows
from irloop.kernels.writers import new_result

__all__ = [
    "Array",
    "Function",
    "adaptive_average",
    "adaptive_max",
    "average",
    "bin_places",
    "bin_weights",
    "flat_index",
    "global_lp",
    "global_max",
    "global_mean",
    "lp",
    "max_indices",
    "max_unpool",
    "max_values",
    "members",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: Number of elements of the images that are pooled together, so that they stay in the cache.
_BLOCK = 1 << 18


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _spend(x: Array, window: Window, counts: Sequence[int]) -> None:
    """Charge the budget for pooling `x`: one read for each element of each window.

    `counts` holds the number of windows along each spatial axis.
    """
    spend_windows(math.prod(x.shape[:2]) * math.prod(counts) * math.prod(window.kernel))


def _prepared(x: Array, window: Window, fill: Any) -> tuple[Array, list[int]]:
    """Pad the data so that every window lies inside, and count the windows on each axis."""
    pads = [window.reach(axis, size) for axis, size in enumerate(x.shape[2:])]
    counts = [max(window.outputs(axis, size), 0) for axis, size in enumerate(x.shape[2:])]
    _spend(x, window, counts)
    return padded(x, pads, fill), counts


def _along(x: Array, axis: int, window: Window, fill: Any, combine: Function, made: Array) -> None:
    """Combine the elements of each window along one spatial axis; write the result to `made`.

    `x` is [items, spatial...]. The data is not padded: an element of the kernel takes part only in
    those windows in which it covers an element of the data. A window without such elements gets
    `fill`.
    """
    stride, dilation = window.strides[axis], window.dilations[axis]
    size, count = x.shape[1 + axis], made.shape[1 + axis]
    before = (slice(None),) * (1 + axis)
    begin, _ = window.reach(axis, size)
    parts = []
    for k in range(window.kernel[axis]):
        low, high, start = places_inside(k * dilation - begin, stride, count, size)
        if low < high:
            taken = slice(start, start + (high - low - 1) * stride + 1, stride)
            parts.append(((*before, slice(low, high)), x[(*before, taken)]))
    parts.sort(key=lambda item: item[1].shape != made.shape)
    first = [part for _, part in parts[:2] if part.shape == made.shape]
    if len(first) == 2:
        combine(*first, out=made)
    else:
        made[...] = first[0] if first else fill
    for place, part in parts[len(first) :]:
        combine(made[place], part, out=made[place])


def _separable(x: Array, window: Window, fill: Any, combine: Function) -> Array:
    sizes = x.shape[2:]
    counts = [max(window.outputs(axis, size), 0) for axis, size in enumerate(sizes)]
    _spend(x, window, counts)
    if not sizes:
        return x.copy()
    result = np.empty((*x.shape[:2], *counts), dtype=x.dtype)
    if result.size == 0:
        return result
    items = math.prod(x.shape[:2])
    images, made = x.reshape(items, *sizes), result.reshape(items, *counts)
    each = max(1, _BLOCK // max(1, math.prod(sizes)))
    for first in range(0, items, each):
        data = images[first : first + each]
        for axis in range(len(counts)):
            shape = (len(data), *counts[: axis + 1], *sizes[axis + 1 :])
            last = axis == len(counts) - 1
            part = made[first : first + each] if last else np.empty(shape, x.dtype)
            _along(data, axis, window, fill, combine, part)
            data = part
    return result


def max_values(window: Window) -> Function:
    """Make a kernel that returns the maximum of each window; padding is never chosen."""

    def apply(x: Array) -> Any:
        with np.errstate(all="ignore"):
            return _separable(x, window, _lowest(x.dtype), np.maximum)

    return apply


def max_indices(
    window: Window, *, axis: int = 0, column_major: bool = False, dtype: Any = np.int64
) -> Function:
    """Make a kernel that returns the maximum of each window, and the flat index of each maximum.

    The index counts the elements of the input over its dimensions from `axis` on. The first of
    equal elements wins. With `column_major` the first spatial axis varies fastest.
    """

    def apply(x: Array) -> tuple[Array, Array]:
        data, counts = _prepared(x, window, _lowest(x.dtype))
        shape = (*x.shape[:2], *counts)
        if 0 in shape:
            return np.zeros(shape, dtype=x.dtype), np.zeros(shape, dtype=dtype)
        view = windows(data, window, counts)
        flat = view.reshape(*x.shape[:2], -1, *counts)
        where = flat.argmax(axis=2)
        values = np.take_along_axis(flat, where[:, :, None], axis=2)[:, :, 0]
        offsets = np.unravel_index(where, window.kernel)
        places = []
        for dim, offset in enumerate(offsets):
            begin = window.pads(dim, x.shape[2 + dim])[0]
            start = np.arange(counts[dim]) * window.strides[dim] - begin
            start = start.reshape(-1, *(1,) * (len(counts) - 1 - dim))
            places.append(start + offset * window.dilations[dim])
        return values, flat_index(places, x.shape, axis, column_major).astype(dtype)

    return apply


def flat_index(
    places: Sequence[Array], shape: Sequence[int], axis: int, column_major: bool
) -> Array:
    """Convert positions on the spatial axes to flat indices within the dimensions from `axis` on.

    `places` holds one array per spatial axis; `shape` is the shape of the data. With
    `column_major` the first spatial axis varies fastest.
    """
    sizes = shape[2:]
    order = range(len(sizes))
    flat: Array = np.zeros((), dtype=np.int64)
    for at in reversed(order) if column_major else order:
        flat = flat * sizes[at] + places[at]
    plane = int(np.prod(sizes))
    planes = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *(1,) * len(sizes))
    whole: Array = planes * plane + flat
    return whole if axis == 0 else whole % int(np.prod(shape[axis:]))


def average(window: Window, *, include_pad: bool, clip_end: bool) -> Function:
    """Make a kernel that computes the mean of each window.

    Without `include_pad` only elements of the data are counted. With it, the sum is divided by the
    size of the window; `clip_end` then excludes elements beyond the end padding from this size.
    """

    def apply(x: Array) -> Any:
        with np.errstate(all="ignore"):
            if x.dtype.kind in "iu":
                mean = _average(x.astype(np.float64), window, include_pad, clip_end)
                return np.rint(mean).astype(x.dtype)
            return _average(widened(x), window, include_pad, clip_end).astype(x.dtype, copy=False)

    return apply


def _average(x: Array, window: Window, include_pad: bool, clip_end: bool) -> Array:
    total = _separable(x, window, 0, np.add)
    for axis, size in enumerate(x.shape[2:]):
        number = members(window, axis, size, include_pad=include_pad, clip_end=clip_end).astype(
            x.dtype
        )
        total = total / number.reshape(-1, *(1,) * (x.ndim - 3 - axis))
    return total


def members(window: Window, axis: int, size: int, *, include_pad: bool, clip_end: bool) -> Array:
    """Return the divisors of a mean: the number of elements of each window along one axis.

    `size` is the length of the axis. Without `include_pad`, only elements of the data count. With
    `include_pad`, padding counts, too. If `clip_end` is also true, positions beyond the end padding
    do not count. Each count is at least 1.
    """
    count = max(window.outputs(axis, size), 0)
    if include_pad and not clip_end:
        return np.full(count, window.kernel[axis])
    begin, end = window.pads(axis, size)
    low, high = (-begin, size + end) if include_pad else (0, size)
    # Memory of a boolean and an index for each element of each window.
    budget.reserve(count * window.kernel[axis] * 20, "counting elements of windows")
    start = np.arange(count)[:, None] * window.strides[axis] - begin
    place = start + np.arange(window.kernel[axis]) * window.dilations[axis]
    inside: Array = ((place >= low) & (place < high)).sum(axis=1)
    return np.maximum(inside, 1)


def lp(window: Window, order: float) -> Function:
    """Make a kernel that computes the p-norm of each window; `order` is p."""

    def apply(x: Array) -> Any:
        with np.errstate(all="ignore"):
            powers = np.abs(widened(x)) ** order
            total = _separable(powers, window, 0, np.add)
            return (total ** (1.0 / order)).astype(x.dtype)

    return apply


def _spatial(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@new_result
def global_mean(x: Array) -> Any:
    """The mean over all spatial axes; the result has these axes with size 1."""
    with np.errstate(all="ignore"):
        return widened(x).mean(axis=_spatial(x), keepdims=True).astype(x.dtype, copy=False)


def global_max(x: Array) -> Any:
    """The maximum over all spatial axes, which keep the size 1."""
    with np.errstate(all="ignore"):
        return x.max(axis=_spatial(x), keepdims=True)


def global_lp(order: float) -> Function:
    """Make a kernel that computes the p-norm over all spatial axes; `order` is p.

    The result has these axes with size 1.
    """

    def apply(x: Array) -> Any:
        with np.errstate(all="ignore"):
            total = (np.abs(widened(x)) ** order).sum(axis=_spatial(x), keepdims=True)
            return (total ** (1.0 / order)).astype(x.dtype)

    return apply


def _bins(size: int, count: int) -> tuple[Array, Array]:
    """Divide `size` elements into `count` bins; return where each bin begins and ends.

    A bin begins at the index of its first element, and ends at the index after its last element.
    Neighbouring bins may share an element.
    """
    index = np.arange(count)
    return index * size // count, -((index + 1) * -size // count)


def bin_weights(size: int, count: int) -> Array:
    """Return the weight of each element in the mean of each bin, as a matrix [size, count]."""
    first, end = _bins(size, count)
    place = np.arange(size)[:, None]
    weights: Array = ((place >= first) & (place < end)) / (end - first)
    return weights


def bin_places(sizes: Sequence[int], counts: Sequence[int]) -> Array:
    """Return the flat index of each element of each pooling bin, as an array [bins, elements].

    `sizes` are the spatial sizes of the data, and `counts` are the numbers of bins along each
    spatial axis. A bin that is shorter than the longest one repeats its last index: sizes (5,) and
    counts (3,) give [[0, 1, 1], [1, 2, 3], [3, 4, 4]]. The repetition changes neither the maximum
    of the bin nor the first position of this maximum.
    """
    rank = len(sizes)
    flat: Array = np.zeros((1,) * (2 * rank), dtype=np.int64)
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        first, end = _bins(size, count)
        longest = int((end - first).max(initial=1))
        place = np.minimum(first[:, None] + np.arange(longest), end[:, None] - 1)
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = count, longest
        flat = flat * size + place.reshape(shape)
    return flat.reshape(int(np.prod(counts)), -1)


def adaptive_average(x: Array, shape: Array) -> Any:
    """Average each bin of each spatial axis; `shape` holds the number of bins per axis.

    `x` is [N, C, spatial axes...]. On an axis of size n with o bins, bin k starts at element
    floor(k * n / o) and ends before element ceil((k + 1) * n / o). Bins may overlap.
    """
    result = widened(x)
    with np.errstate(all="ignore"):
        for axis, count in enumerate(listed(shape), start=2):
            weights = bin_weights(x.shape[axis], count).astype(result.dtype)
            result = np.moveaxis(np.moveaxis(result, axis, -1) @ weights, -1, axis)
    return np.ascontiguousarray(result).astype(x.dtype, copy=False)


def adaptive_max(dtype: Any = np.int64) -> Function:
    """Make a kernel that returns the maximum of each bin and the index of this maximum.

    The kernel takes x [N, C, spatial axes...] and the number of bins per axis; the bins are those
    of `adaptive_average`. An index counts the elements of one channel in row-major order, and has
    the element type `dtype`.
    """

    def apply(x: Array, shape: Array) -> tuple[Array, Array]:
        counts = [int(count) for count in shape.reshape(-1)]
        places = bin_places(x.shape[2:], counts)
        values = x.reshape(*x.shape[:2], -1)[:, :, places]
        best = values.argmax(axis=-1)
        largest = np.take_along_axis(values, best[..., None], axis=-1)[..., 0]
        index = places[np.arange(len(places)), best]
        result = (*x.shape[:2], *counts)
        return largest.reshape(result), index.reshape(result).astype(dtype)

    return apply


def max_unpool(shape_of: Callable[[Sequence[int]], list[int]]) -> Function:
    """Make a kernel of MaxUnpool: each element goes to a given position, the rest is 0.

    The kernel's operands are the data, the position of each element, and optionally a shape.
    `shape_of` computes the shape of the result from the shape of the data; the positions are flat
    indices into it. If the third operand demands another shape, the result is then padded with
    zeros or cropped at the end of each axis.
    """

    def apply(x: Array, index: Array, shape: Array | None = None) -> Any:
        inner = shape_of(x.shape)
        flat = np.zeros(int(np.prod(inner)), dtype=x.dtype)
        flat[index.reshape(-1)] = x.reshape(-1)
        result = flat.reshape(inner)
        if shape is None:
            return result
        wanted = [int(size) for size in shape]
        if wanted == inner:
            return result
        grown = np.zeros(wanted, dtype=x.dtype)
        common = tuple(slice(0, min(a, b)) for a, b in zip(inner, wanted, strict=True))
        grown[common] = result[common]
        return grown

    return apply
