"""Kernels that read or change shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.lists import listed

__all__ = [
    "broadcast_bidirectional",
    "broadcast_explicit",
    "broadcast_numpy",
    "broadcast_pdpd",
    "flatten",
    "reshape",
    "reshape_to",
    "shape_of",
    "shape_range",
    "size",
    "squeeze_axes",
    "squeeze_fixed",
    "squeeze_lenient",
    "tile",
    "tile_axis",
    "transpose",
    "transpose_by",
    "unsqueeze",
    "unsqueeze_fixed",
]

Array = np.ndarray[Any, np.dtype[Any]]


def shape_of(dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """Make a kernel that returns the dimensions of an array, as a vector of the type `dtype`."""

    def run(data: Array) -> Array:
        return np.array(data.shape, dtype=dtype)

    return run


def shape_range(start: int, end: int | None) -> Callable[[Array], Array]:
    """Make a kernel that returns the dimensions from index `start` up to, but excluding, `end`.

    Negative indices count from the end.
    """

    def run(data: Array) -> Array:
        return np.array(data.shape[start:end], dtype=np.int64)

    return run


def size(data: Array) -> Array:
    """The number of elements as an i64 scalar."""
    return np.array(data.size, dtype=np.int64)


def reshape_to(data: Array, target: list[int], special_zero: bool) -> Array:
    """Reshape `data` to `target`; -1 is inferred, and 0 copies a dimension if `special_zero`.

    Raises:
        ValueError: when the number of elements does not match.
    """
    if special_zero and 0 in target:
        copied = [at for at, dim in enumerate(target) if dim == 0]
        left = [dim for at, dim in enumerate(data.shape) if at not in copied]
        target = [data.shape[at] if dim == 0 else dim for at, dim in enumerate(target)]
        if -1 in target and 0 in target:
            # If a dimension is zero, NumPy cannot infer -1; the copied dimensions cancel out, so
            # divide without them.
            rest = math.prod(d for at, d in enumerate(target) if at not in copied and d != -1)
            target[target.index(-1)] = math.prod(left) // rest if rest else 0
    elif data.size == 0 and 0 in target and -1 in target:
        # Any number is possible, because there are no elements; OpenVINO uses 0 if it computes the
        # shape at run time.
        target = [max(dim, 0) for dim in target]
    return data.reshape(target)


def reshape(special_zero: bool) -> Callable[[Array, Array], Array]:
    """Return a kernel that reshapes data to the shape in its second input.

    In the shape, -1 is replaced by the size that follows from the others. If `special_zero`, 0
    copies the dimension of the data at the same position.
    """

    def run(data: Array, pattern: Array) -> Array:
        return reshape_to(data, listed(pattern), special_zero)

    return run


def flatten(axis: int) -> Callable[[Array], Array]:
    """Make a kernel that flattens data to a matrix.

    The axes before `axis` are joined to form the rows, and the remaining axes to form the columns.
    """

    def run(data: Array) -> Array:
        at = axis + data.ndim if axis < 0 else axis
        return data.reshape(math.prod(data.shape[:at]), math.prod(data.shape[at:]))

    return run


def squeeze_fixed(axes: tuple[int, ...] | None) -> Callable[[Array], Array]:
    """Make a kernel that removes `axes` of size 1; None means all axes of size 1."""

    def run(data: Array) -> Array:
        if axes is None:
            return np.squeeze(data)
        # ONNX Runtime accepts an axis that is listed twice.
        chosen = dict.fromkeys(axis + data.ndim if axis < 0 else axis for axis in axes)
        return np.squeeze(data, axis=tuple(chosen))

    return run


def squeeze_axes(data: Array, axes: Array | None = None) -> Array:
    """Remove the axes that are listed in the input `axes`.

    If `axes` is missing or empty, all axes of size 1 are removed.
    """
    return np.squeeze(data, axis=None if axes is None else tuple(listed(axes)) or None)


def squeeze_lenient(data: Array, axes: Array | None = None) -> Array:
    """Remove the listed axes that have size 1; with no list or an empty one, all axes of size 1."""
    if axes is None or axes.size == 0:
        return np.squeeze(data)
    if axes.size == 1:
        at = int(axes.reshape(-1)[0]) % data.ndim if data.ndim else 0
        dims = data.shape
        return data.reshape(dims[:at] + dims[at + 1 :]) if dims[at : at + 1] == (1,) else data
    chosen = {int(axis) % data.ndim for axis in axes.reshape(-1)} if data.ndim else set()
    return data.reshape([d for at, d in enumerate(data.shape) if at not in chosen or d != 1])


_MOST_AXES = 64


def unsqueeze_fixed(axes: tuple[int, ...]) -> Callable[[Array], Array]:
    """Make a kernel that inserts axes of size 1 at the positions `axes` of the result."""

    # If an axis is out of range, expand_dims raises an error that names the axis. No NumPy array
    # has as many axes as _MOST_AXES.
    if not axes or min(axes) < 0 or max(axes) >= _MOST_AXES:
        return lambda data: np.expand_dims(data, axes)
    index = tuple(None if at in axes else slice(None) for at in range(max(axes) + 1))

    def run(data: Array) -> Array:
        found: Array = data[index]
        return found

    return run


def unsqueeze(data: Array, axes: Array) -> Array:
    """Insert axes of size 1; `axes` are their positions in the result."""
    if axes.size == 1:
        at = int(axes.reshape(-1)[0]) % (data.ndim + 1)
        return data.reshape((*data.shape[:at], 1, *data.shape[at:]))
    rank = data.ndim + axes.size
    positions = {int(axis) % rank for axis in axes.reshape(-1)}
    dims = iter(data.shape)
    return data.reshape([1 if at in positions else next(dims, 1) for at in range(rank)])


def transpose(data: Array, order: Array | None = None) -> Array:
    """Permute the axes of `data` in the order of `order`; without an order, reverse them.

    An empty `order` also reverses the axes.
    """
    if order is None or order.size == 0:
        return data.transpose()
    return data.transpose(listed(order))


def transpose_by(order: tuple[int, ...] | None) -> Callable[[Array], Array]:
    """Make a kernel that permutes the axes by `order`; None reverses them."""

    def run(data: Array) -> Array:
        return data.transpose(order)

    return run


def broadcast_numpy(data: Array, target: Array, unused: Array | None = None) -> Array:
    """Broadcast `data`, aligned at its last dimension, to exactly the shape `target`.

    The third operand is ignored: OpenVINO writes a mapping of axes even where the mode does not use
    it.
    """
    return np.broadcast_to(data, listed(target))


def broadcast_bidirectional(data: Array, target: Array, unused: Array | None = None) -> Array:
    """Broadcast `data` to the common shape of itself and `target`."""
    shape = np.broadcast_shapes(data.shape, tuple(listed(target)))
    return np.broadcast_to(data, shape)


def broadcast_explicit(data: Array, target: Array, mapping: Array) -> Array:
    """Broadcast `data` to the shape `target`; axis i of `data` becomes axis `mapping[i]`."""
    shape = listed(target)
    aligned = [1] * len(shape)
    for axis, dim in zip(listed(mapping), data.shape, strict=True):
        aligned[axis] = dim
    return np.broadcast_to(data.reshape(aligned), shape)


def broadcast_pdpd(axis: int) -> Callable[..., Array]:
    """Make a kernel that broadcasts `data` to the shape `target` in the mode pdpd.

    The first axis of `data` is aligned with axis `axis` of the target; -1 aligns the last axes.
    """

    def run(data: Array, target: Array, unused: Array | None = None) -> Array:
        shape = listed(target)
        start = len(shape) - data.ndim if axis == -1 else axis
        dims = list(data.shape)
        while dims and start + len(dims) > len(shape) and dims[-1] == 1:
            dims.pop()
        aligned = [1] * start + dims + [1] * (len(shape) - start - len(dims))
        return np.broadcast_to(data.reshape(aligned), shape)

    return run


def tile(data: Array, repeats: Array) -> Array:
    """Repeat `data` along each axis; the shorter of shape and repeats is extended with ones."""
    times = listed(repeats)
    # NumPy repeats one axis after the other, so two results are in memory at a time.
    budget.reserve(2 * data.nbytes * math.prod(max(number, 0) for number in times), "tiling")
    return np.tile(data, times)


def tile_axis(data: Array, tiles: Array, axis: Array) -> Array:
    """Repeat `data` `tiles` times along one axis."""
    repeats = [1] * data.ndim
    repeats[int(axis.reshape(-1)[0])] = int(tiles.reshape(-1)[0])
    return np.tile(data, repeats)
