"""Kernels for padding and cropping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop.kernels.bounds import cropped, on_all_axes
from irloop.kernels.lists import listed

__all__ = ["center_crop_pad", "openvino_pad", "pad", "pad_by_input", "pad_fixed"]

Array = np.ndarray[Any, np.dtype[Any]]


def pad(data: Array, begins: Sequence[int], ends: Sequence[int], mode: str, fill: Any) -> Array:
    """Add elements at both ends of each axis, or remove them where an amount is negative.

    `mode` is constant, edge, reflect (the border element is not repeated), symmetric (it is
    repeated) or wrap. The added elements are taken from `data` before cropping; in wrap mode from
    the cropped data, as in ONNX Runtime.
    """
    if mode == "constant":
        return _pad_constant(data, begins, ends, fill)
    if mode == "wrap":
        data = _pad_constant(data, [min(b, 0) for b in begins], [min(e, 0) for e in ends], fill)
        begins, ends = [max(b, 0) for b in begins], [max(e, 0) for e in ends]
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        if begin or end:
            size = data.shape[axis]
            positions = np.arange(-begin, size + end)
            data = np.take(data, _inside(positions, size, mode), axis)
    return data


def _inside(positions: Array, size: int, mode: str) -> Array:
    """Map padded positions to source positions on an axis of `size` elements.

    `mode` is edge, wrap, reflect or symmetric.
    """
    if mode == "edge" or size == 1:
        inside: Array = np.clip(positions, 0, size - 1)
        return inside
    # Mode wrap repeats every `size` elements. The other modes run to the end of the axis and back;
    # reflect does not repeat the border elements.
    period = {"wrap": size, "reflect": 2 * size - 2, "symmetric": 2 * size}[mode]
    folded: Array = positions % period
    if mode == "wrap":
        return folded
    back = period - folded if mode == "reflect" else period - 1 - folded
    nearer: Array = np.minimum(folded, back)
    return nearer


def _pad_constant(data: Array, begins: Sequence[int], ends: Sequence[int], fill: Any) -> Array:
    shape = [dim + b + e for dim, b, e in zip(data.shape, begins, ends, strict=True)]
    result = np.full(shape, fill, dtype=data.dtype)
    source, target = [], []
    for size, begin, end in zip(data.shape, begins, ends, strict=True):
        source.append(slice(max(0, -begin), max(0, size + min(0, end))))
        first = max(0, begin)
        target.append(slice(first, first + max(0, size + min(0, end) + min(0, begin))))
    result[tuple(target)] = data[tuple(source)]
    return result


def openvino_pad(mode: str) -> Callable[..., Array]:
    """Make the kernel of OpenVINO's Pad.

    It takes the data, the pads at the start of the axes, the pads at their end, and an optional
    fill value (0 by default).
    """

    def run(data: Array, begins: Array, ends: Array, fill: Array | None = None) -> Array:
        value = 0 if fill is None else fill.reshape(-1)[0]
        return pad(data, listed(begins), listed(ends), mode, value)

    return run


def pad_fixed(pads: tuple[int, ...], mode: str, fill: float) -> Callable[[Array], Array]:
    """Make a kernel that pads by fixed amounts.

    `pads` lists the amounts at the start of all axes, then those at the end.
    """
    half = len(pads) // 2

    def run(data: Array) -> Array:
        return pad(data, pads[:half], pads[half:], mode, fill)

    return run


def pad_by_input(mode: str) -> Callable[..., Array]:
    """Make a kernel that pads data by the numbers in its second input.

    The input lists the padding before all axes, then the padding after them. The fill value and the
    axes are optional inputs; with axes, the numbers apply to these axes.
    """

    def run(
        data: Array, pads: Array, fill: Array | None = None, axes: Array | None = None
    ) -> Array:
        numbers = listed(pads)
        half = len(numbers) // 2
        begins, ends = numbers[:half], numbers[half:]
        if axes is not None:
            chosen = [int(axis) % data.ndim for axis in axes.reshape(-1)]
            begins, ends = (on_all_axes(items, chosen, data.ndim) for items in (begins, ends))
        value = 0 if fill is None or fill.size == 0 else fill.reshape(-1)[0]
        return pad(data, begins, ends, mode, value)

    return run


def center_crop_pad(axes: tuple[int, ...] | None) -> Callable[[Array, Array], Array]:
    """Return a function that crops or zero-pads data to the sizes in its second input.

    Elements are removed or added at both ends of each axis. There is one size for each of `axes`;
    None means all axes.
    """

    def run(data: Array, sizes: Array) -> Array:
        chosen = range(data.ndim) if axes is None else axes
        begins, ends = [0] * data.ndim, [0] * data.ndim
        for axis, size in zip(chosen, listed(sizes), strict=True):
            begins[axis], ends[axis] = cropped(data.shape[axis], size)
        return pad(data, begins, ends, "constant", 0)

    return run
