"""Kernels that move blocks between space, depth and batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.lists import listed
from irloop.kernels.work import spend_each

__all__ = [
    "batch_to_space",
    "depth_to_space",
    "image_patches",
    "reorg",
    "shuffle_channels",
    "space_to_batch",
    "space_to_depth",
    "sum_of_columns",
    "sum_of_columns_by_pads",
]

Array = np.ndarray[Any, np.dtype[Any]]


def depth_to_space(block: int, blocks_first: bool) -> Callable[[Array], Array]:
    """Make a kernel that moves channels into the spatial axes.

    It maps [n, c, d...] to [n, c / block^k, d * block...] for k spatial axes. With `blocks_first`
    the channel axis consists of (blocks, depth), otherwise of (depth, blocks).
    """

    def run(data: Array) -> Array:
        batch, channels, *sizes = data.shape
        k = len(sizes)
        depth = channels // block**k
        blocks = [block] * k
        if blocks_first:
            parts = data.reshape(batch, *blocks, depth, *sizes)
            order = [0, k + 1, *_interleaved(range(k + 2, 2 * k + 2), range(1, k + 1))]
        else:
            parts = data.reshape(batch, depth, *blocks, *sizes)
            order = [0, 1, *_interleaved(range(k + 2, 2 * k + 2), range(2, k + 2))]
        return parts.transpose(order).reshape(batch, depth, *(size * block for size in sizes))

    return run


def space_to_depth(block: int, blocks_first: bool) -> Callable[[Array], Array]:
    """Make a kernel that moves blocks of the spatial axes into the channel axis.

    It maps [n, c, d...] to [n, c * block^k, d / block...] for k spatial axes: the inverse of
    `depth_to_space`. With `blocks_first` the new channel axis consists of (blocks, c), otherwise of
    (c, blocks).
    """

    def run(data: Array) -> Array:
        batch, channels, *sizes = data.shape
        k = len(sizes)
        smaller = [size // block for size in sizes]
        parts = data.reshape(batch, channels, *_interleaved(smaller, [block] * k))
        outer, inner = range(2, 2 * k + 2, 2), range(3, 2 * k + 3, 2)
        order = [0, *inner, 1, *outer] if blocks_first else [0, 1, *inner, *outer]
        return parts.transpose(order).reshape(batch, channels * block**k, *smaller)

    return run


def _interleaved(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [item for pair in zip(left, right, strict=True) for item in pair]


def batch_to_space(data: Array, block: Array, begins: Array, ends: Array) -> Array:
    """Move parts of the batch axis into the other axes, then crop these axes at both ends.

    `block`, `begins` and `ends` hold one number per axis: the factor by which the axis grows, and
    how many elements are cropped at its start and end. The factor of the batch axis is not used;
    the batch is divided by the product of the others.
    """
    blocks = listed(block)[1:]
    rank, count = data.ndim, math.prod(blocks)
    parts = data.reshape(*blocks, data.shape[0] // count, *data.shape[1:])
    order = [rank - 1, *_interleaved(range(rank, 2 * rank - 1), range(rank - 1))]
    wide = [size * times for size, times in zip(data.shape[1:], blocks, strict=True)]
    whole = parts.transpose(order).reshape(data.shape[0] // count, *wide)
    crops = zip(whole.shape, listed(begins), listed(ends), strict=True)
    return whole[tuple(slice(begin, size - end) for size, begin, end in crops)]


def space_to_batch(data: Array, block: Array, begins: Array, ends: Array) -> Array:
    """Pad the axes of `data` with zeros at both ends, then move blocks into the batch.

    `block`, `begins` and `ends` hold one number per axis: the size of a block, and how many
    zeros are added before and after the data. The block size of the batch axis is not used.
    """
    pads = list(zip(listed(begins), listed(ends), strict=True))
    blocks = listed(block)[1:]
    padded = np.pad(data, pads)
    rank = data.ndim
    smaller = [size // times for size, times in zip(padded.shape[1:], blocks, strict=True)]
    parts = padded.reshape(padded.shape[0], *_interleaved(smaller, blocks))
    order = [*range(2, 2 * rank, 2), 0, *range(1, 2 * rank - 1, 2)]
    return parts.transpose(order).reshape(padded.shape[0] * math.prod(blocks), *smaller)


def shuffle_channels(axis: int, group: int) -> Callable[[Array], Array]:
    """Make a kernel that views an axis as a matrix with `group` rows and reads it by columns.

    For example, with two groups the elements 0, 1, 2, 3, 4, 5 of the axis become 0, 3, 1, 4, 2, 5.
    """

    def run(data: Array) -> Array:
        position = axis % data.ndim
        before, after = data.shape[:position], data.shape[position + 1 :]
        parts = data.reshape(*before, group, data.shape[position] // group, *after)
        return parts.swapaxes(position, position + 1).reshape(data.shape)

    return run


def reorg(stride: int) -> Callable[[Array], Array]:
    """Make a kernel for Darknet's reorganisation of blocks into channels.

    It maps [n, c, h, w] to [n, c * s * s, h / s, w / s], where s is `stride`.
    """

    def run(data: Array) -> Array:
        n, c, h, w = data.shape
        parts = data.reshape(n, c // stride**2, h, stride, w, stride)
        shape = (n, c * stride**2, h // stride, w // stride)
        return parts.transpose(0, 3, 5, 1, 2, 4).reshape(shape)

    return run


def image_patches(
    sizes: tuple[int, int], strides: tuple[int, int], rates: tuple[int, int], auto_pad: str
) -> Callable[[Array], Array]:
    """Make a kernel that extracts patches of an image into channels.

    It maps [n, c, h, w] to [n, kh * kw * c, oh, ow], for patches of kh by kw elements. `auto_pad`
    is valid, same_upper or same_lower (which pad the image with zeros).
    """
    spans = [(size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True)]

    def run(data: Array) -> Array:
        padded = data
        if auto_pad != "valid":
            padded = np.pad(data, [(0, 0), (0, 0), *_same_pads(data)])
        counts = [
            (size - span) // stride + 1
            for size, span, stride in zip(padded.shape[2:], spans, strides, strict=True)
        ]
        steps = padded.strides
        view = np.lib.stride_tricks.as_strided(
            padded,
            (*data.shape[:2], *sizes, *counts),
            (
                *steps[:2],
                *(step * rate for step, rate in zip(steps[2:], rates, strict=True)),
                *(step * stride for step, stride in zip(steps[2:], strides, strict=True)),
            ),
            writeable=False,
        )
        channels = data.shape[1] * math.prod(sizes)
        return view.transpose(0, 2, 3, 1, 4, 5).reshape(data.shape[0], channels, *counts)

    def _same_pads(data: Array) -> list[tuple[int, int]]:
        pads = []
        for size, span, stride in zip(data.shape[2:], spans, strides, strict=True):
            total = max(0, (-(-size // stride) - 1) * stride + span - size)
            less, more = total // 2, total - total // 2
            pads.append((less, more) if auto_pad == "same_upper" else (more, less))
        return pads

    return run


def sum_of_columns(
    strides: Sequence[int],
    dilations: Sequence[int],
    begins: Sequence[int],
    ends: Sequence[int],
) -> Callable[[Array, Array, Array], Array]:
    """Return a kernel that adds overlapping blocks into an image, as Col2Im does.

    The kernel maps data [n, c * block, l] to [n, c, *image], where c is the number of channels and
    l is the number of blocks. The axis n may be missing in both shapes. Its operands are the data,
    the sizes of the image and the sizes of a block. `begins` and `ends` are the pads of the image.
    Empty `strides` and `dilations` mean ones, empty `begins` and `ends` mean zeros.
    """

    def run(data: Array, image: Array, block: Array) -> Array:
        sizes, kernel = listed(image), listed(block)
        rank = len(sizes)
        steps, spread = list(strides) or [1] * rank, list(dilations) or [1] * rank
        first, last = list(begins) or [0] * rank, list(ends) or [0] * rank
        wide = [size + a + b for size, a, b in zip(sizes, first, last, strict=True)]
        counts = [
            (size - (k - 1) * d - 1) // s + 1
            for size, k, d, s in zip(wide, kernel, spread, steps, strict=True)
        ]
        single = data.ndim == 2
        columns = data[None] if single else data
        channels = columns.shape[1] // math.prod(kernel)
        columns = columns.reshape(columns.shape[0], channels, *kernel, *counts)
        result = np.zeros((columns.shape[0], channels, *wide), data.dtype)
        budget.spend(math.prod(kernel), "adding up columns")
        spend_each(columns.size, 5, "adding up columns")
        for offset in np.ndindex(*kernel):
            window: tuple[Any, ...] = tuple(
                slice(o * d, o * d + (n - 1) * s + 1, s)
                for o, d, n, s in zip(offset, spread, counts, steps, strict=True)
            )
            result[(..., *window)] += columns[(slice(None), slice(None), *offset)]
        inside: tuple[Any, ...] = tuple(
            slice(a, a + size) for a, size in zip(first, sizes, strict=True)
        )
        cut = result[(..., *inside)]
        found: Array = cut[0] if single else cut
        return found

    return run


def sum_of_columns_by_pads(
    strides: Sequence[int] | None, dilations: Sequence[int] | None, pads: Sequence[int] | None
) -> Callable[[Array, Array, Array], Array]:
    """Make a kernel that adds up columns to an image, as `sum_of_columns`, with one list of pads.

    The list holds the pads at the start of all axes, then those at their end.
    """
    numbers = list(pads or ())
    half = len(numbers) // 2
    return sum_of_columns(strides or (), dilations or (), numbers[:half], numbers[half:])
