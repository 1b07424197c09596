"""Deformable convolution: an offset moves the position where each element of a window is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.convolution import Array, Function, WindowOptions
from irloop.kernels.geometry import Window
from irloop.kernels.matmul import spend_product, widened
from irloop.kernels.sampling import weighted_corners
from irloop.kernels.work import spend_each

__all__ = ["base_places", "deformable"]


def base_places(window: Window, sizes: Sequence[int]) -> Array:
    """Sampling positions before offsets are added: [kernel elements, windows, axes]."""
    rank = len(sizes)
    grid = np.zeros((*window.kernel, *(window.outputs(at, n) for at, n in enumerate(sizes)), rank))
    for axis, size in enumerate(sizes):
        inner = np.arange(window.kernel[axis]) * window.dilations[axis]
        outer = np.arange(window.outputs(axis, size)) * window.strides[axis]
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = len(inner), len(outer)
        place = inner[:, None] + outer - window.pads(axis, size)[0]
        grid[..., axis] = place.reshape(shape)
    return grid.reshape(int(np.prod(window.kernel)), -1, rank)


def _corners(place: Array, size: int, *, blend: bool) -> list[tuple[Array, Array]]:
    """For both elements around each position on an axis, return the indices and the weights.

    Elements outside the axis have weight 0. With `blend`, a position less than one element outside
    the data is interpolated between the border element and 0. Without `blend`, a position between
    the last element and the end of the axis takes the value of the last element, and a position
    outside the axis gives 0.
    """
    if not blend:
        # Positions outside count as 0. A position between the last element and the border takes the
        # value of that element.
        outside = (place < 0) | (place >= size)
        place = np.clip(place, 0, size - 1)
        scale = np.where(outside, 0.0, 1.0).astype(place.dtype)
    first = np.floor(place)
    fraction = place - first
    result = []
    for offset, weight in ((0, 1 - fraction), (1, fraction)):
        element = first + offset
        inside = (element >= 0) & (element <= size - 1)
        share = np.where(inside, weight, 0).astype(place.dtype)
        index = np.clip(element, 0, size - 1).astype(np.int64)
        result.append((index, share if blend else share * scale))
    return result


def deformable(options: WindowOptions, groups: int, offset_groups: int, *, blend: bool) -> Function:
    """Make the kernel of a deformable convolution.

    The kernel takes data [N, C, ...], filters [O, C/groups, ...], offsets
    [N, offset_groups*K*r, out...] and, optionally, a mask [N, offset_groups*K, out...] and a bias
    [O]. K is the number of positions in a filter, and r the number of spatial axes.

    With `blend`, elements outside the data are zeros that take part in the interpolation. Without
    it, a position p on an axis of size n gives 0 if p < 0 or p >= n, and the last element if p is
    between n - 1 and n.
    """

    def apply(
        x: Array, w: Array, offset: Array, mask: Array | None = None, bias: Array | None = None
    ) -> Any:
        sizes, rank = x.shape[2:], x.ndim - 2
        items, channels = x.shape[:2]
        window = options.window(w.shape[2:])
        outputs = offset.shape[2:]
        data, filters = widened(x), widened(w)
        elements = int(np.prod(window.kernel))
        # [N * offset groups, K, r, windows]
        moves = widened(offset).reshape(items * offset_groups, elements, rank, -1)
        base = base_places(window, sizes).astype(moves.dtype)
        reads = moves.size // rank * channels // offset_groups
        budget.reserve(8 * (moves.size * 2**rank + 3 * reads), "the samples of a convolution")
        spend_each(reads * 2**rank, 5, "the samples of a convolution")
        with np.errstate(all="ignore"):
            corners = [
                _corners(
                    (moves[:, :, axis] + base[:, :, axis]).reshape(len(moves), -1),
                    size,
                    blend=blend,
                )
                for axis, size in enumerate(sizes)
            ]
            parts = data.reshape(items * offset_groups, -1, *sizes)
            columns = weighted_corners(parts, corners)
            if mask is not None:
                columns = columns * widened(mask).reshape(len(moves), 1, -1)
            depth = channels // groups * elements
            columns = columns.reshape(items, groups, depth, -1)
            flat = filters.reshape(groups, -1, depth)
            spend_product(flat, columns)
            result = np.matmul(flat, columns).reshape(items, -1, *outputs)
            if bias is not None:
                result = result + widened(bias).reshape(1, -1, *(1,) * rank)
        return result.astype(x.dtype, copy=False)

    return apply
