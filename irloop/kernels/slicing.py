"""Kernels that slice, split and concatenate tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from irloop.kernels.bounds import bounded, chunks
from irloop.kernels.lists import listed

__all__ = [
    "Masks",
    "concat",
    "openvino_slice",
    "slice_",
    "slice_fixed",
    "slice_scatter",
    "split",
    "split_chunks",
    "split_lengths",
    "split_sizes",
    "strided_slice",
    "tensor_scatter",
]

Array = np.ndarray[Any, np.dtype[Any]]
_ALL = slice(None)


def concat(axis: int) -> Callable[..., Array]:
    """Make a kernel that concatenates its operands along `axis`."""

    def run(*arrays: Array) -> Array:
        return np.concatenate(arrays, axis)

    return run


def _cut(
    data: Array,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int],
) -> tuple[slice, ...]:
    index = [_ALL] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[axis] = bounded(start, end, step, data.shape[axis])
    return tuple(index)


def slice_(
    data: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    """Slice from `starts` to `ends` along `axes`; if `axes` is None, along the first axes."""
    first = listed(starts)
    chosen = range(len(first)) if axes is None else listed(axes)
    strides = [1] * len(first) if steps is None else listed(steps)
    return data[_cut(data, first, listed(ends), chosen, strides)]


def slice_fixed(
    starts: tuple[int, ...], ends: tuple[int, ...], axes: tuple[int, ...] | None
) -> Callable[[Array], Array]:
    """Return a function that slices data from `starts` to `ends` along `axes`.

    If `axes` is None, the bounds belong to the first axes: 0, 1, and so on.
    """
    chosen = tuple(range(len(starts))) if axes is None else axes

    def run(data: Array) -> Array:
        return data[_cut(data, starts, ends, chosen, [1] * len(starts))]

    return run


def openvino_slice(
    data: Array, starts: Array, ends: Array, steps: Array, axes: Array | None = None
) -> Array:
    """Slice from `starts` to `ends` along `axes`, with the inputs in the order of OpenVINO's Slice.

    If `axes` is None, the bounds belong to the first axes.
    """
    return slice_(data, starts, ends, axes, steps)


@dataclass(frozen=True, slots=True)
class Masks:
    """The masks of a strided slice, one value per position of `begin`; True activates the mask."""

    begin: tuple[bool, ...] = ()
    end: tuple[bool, ...] = ()
    new_axis: tuple[bool, ...] = ()
    shrink: tuple[bool, ...] = ()
    ellipsis: tuple[bool, ...] = ()

    def index(
        self,
        shape: Sequence[int],
        begin: Sequence[int],
        end: Sequence[int],
        strides: Sequence[int],
    ) -> Any:
        """Make the NumPy index that slices data of `shape` as a StridedSlice does.

        The masks decide which bounds are open, and which axes are inserted or removed.
        """
        items: list[Any] = []
        axis = 0
        for position, bounds in enumerate(zip(begin, end, strides, strict=True)):
            if self.at(self.ellipsis, position):
                items.append(Ellipsis)
                later = range(position + 1, len(begin))
                axis = len(shape) - sum(not self.at(self.new_axis, other) for other in later)
            elif self.at(self.new_axis, position):
                items.append(None)
            else:
                items.append(self._item(position, shape[axis], *bounds))
                axis += 1
        return tuple(items)

    def _item(self, position: int, dim: int, begin: int, end: int, stride: int) -> Any:
        if self.at(self.shrink, position):
            return begin
        first = None if self.at(self.begin, position) else begin
        last = None if self.at(self.end, position) else end
        return bounded(first, last, stride, dim)

    @staticmethod
    def at(mask: tuple[bool, ...], position: int) -> bool:
        """Return the value of `mask` at `position`; False if the mask is shorter."""
        return position < len(mask) and mask[position]


def strided_slice(masks: Masks) -> Callable[..., Array]:
    """Make a kernel of StridedSlice: it slices data, and inserts and removes axes.

    The masks tell which bounds are open, and which axes are inserted or removed.
    """

    def run(data: Array, begin: Array, end: Array, strides: Array | None = None) -> Array:
        first = listed(begin)
        steps = [1] * len(first) if strides is None else listed(strides)
        index = masks.index(data.shape, first, listed(end), steps)
        found: Array = data[index]
        return found

    return run


def _pieces(data: Array, axis: int, lengths: Sequence[int]) -> tuple[Array, ...]:
    # `_places` has a cache, because a loop splits the same shape in every iteration.
    places = _places(axis % data.ndim, data.shape[axis], tuple(lengths))
    return tuple([data[place] for place in places])


@lru_cache(maxsize=32)
def _places(axis: int, size: int, lengths: tuple[int, ...]) -> tuple[tuple[slice, ...], ...]:
    """Make the NumPy index of each part into which an axis is split.

    Raises:
        ValueError: when the lengths do not add up to the size of the axis.
    """
    places, start = [], 0
    for length in lengths:
        places.append((*[_ALL] * axis, slice(start, start + length)))
        start += length
    if start != size:
        raise ValueError(f"parts of {list(lengths)} do not add up to {size}")
    return tuple(places)


@lru_cache(maxsize=32)
def _equal_places(axis: int, size: int, count: int) -> tuple[tuple[slice, ...], ...]:
    return _places(axis, size, chunks(size, count))


def _one_or_all(pieces: tuple[Array, ...]) -> Any:
    return pieces[0] if len(pieces) == 1 else pieces


def split(count: int) -> Callable[[Array, Array], Any]:
    """Make a kernel that splits data into `count` equal parts along an axis.

    The kernel takes the data and the axis.
    """

    def run(data: Array, axis: Array) -> Any:
        at = int(axis.reshape(-1)[0])
        return _one_or_all(_pieces(data, at, [data.shape[at] // count] * count))

    return run


def split_lengths(data: Array, axis: Array, lengths: Array) -> Any:
    """Split data along one axis into parts of the given lengths.

    One length may be -1: that part gets the elements that the other parts leave.
    """
    along = int(axis.reshape(-1)[0])
    sizes = listed(lengths)
    if -1 in sizes:
        rest = sum(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = data.shape[along] - rest
    return _one_or_all(_pieces(data, along, sizes))


def split_sizes(axis: int, sizes: tuple[int, ...]) -> Callable[[Array], Any]:
    """Return a function that splits its argument along `axis` into parts of the given sizes."""

    def run(data: Array) -> Any:
        return _one_or_all(_pieces(data, axis, sizes))

    return run


def split_chunks(axis: int, count: int) -> Callable[..., Any]:
    """Make a kernel that splits its data along `axis`.

    There are `count` parts. They have the sizes that the kernel receives as its second operand or,
    without it, equal sizes. If equal parts are not possible, the last parts are smaller.
    """

    def run(data: Array, sizes: Array | None = None) -> Any:
        if sizes is not None:
            if sizes.size != count:
                raise ValueError(f"{sizes.size} lengths were given for {count} parts")
            return _one_or_all(_pieces(data, axis, listed(sizes)))
        places = _equal_places(axis % data.ndim, data.shape[axis], count)
        return _one_or_all(tuple([data[place] for place in places]))

    return run


def slice_scatter(
    data: Array,
    updates: Array,
    starts: Array,
    ends: Array,
    steps: Array,
    axes: Array | None = None,
) -> Array:
    """Replace a slice of `data` by `updates`."""
    first = listed(starts)
    chosen = range(len(first)) if axes is None else listed(axes)
    result = np.array(data)
    index = _cut(data, first, listed(ends), chosen, listed(steps))
    result[index] = updates
    return result


def tensor_scatter(axis: int, circular: bool) -> Callable[..., Array]:
    """Return a function that writes `update` into a copy of a cache along `axis`.

    Each batch item has its own start index, by default 0. If `circular` is true, positions after
    the end of the cache continue at its start.
    """

    def run(cache: Array, update: Array, indices: Array | None = None) -> Array:
        along = axis % cache.ndim
        batch, length = cache.shape[0], update.shape[along]
        starts = np.zeros(batch, dtype=np.int64) if indices is None else indices
        positions = starts[:, None] + np.arange(length)
        if circular:
            positions = positions % cache.shape[along]
        result = np.moveaxis(np.array(cache), along, 1)
        result[np.arange(batch)[:, None], positions] = np.moveaxis(update, along, 1)
        return np.moveaxis(result, 1, along)

    return run
