"""Convolution over any number of spatial axes, by strided views and matrix products.

Data is [N, C, spatial...]. 16-bit floats are summed in f32. The products of a plain convolution are
in the module `correlation`. A transposed convolution computes one matrix product for each block of
rows, and makes one addition to the result for each position of the kernel. No Python loop runs over
pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as all_of
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from irloop import budget
from irloop.kernels.blocks import over_step
from irloop.kernels.correlation import correlate
from irloop.kernels.geometry import Window
from irloop.kernels.matmul import widened
from irloop.kernels.precision import unwarned
from irloop.kernels.work import spend_each, spend_products
from irloop.kernels.writers import WIDE, new_result, with_activations

__all__ = [
    "Array",
    "Function",
    "WindowOptions",
    "binary",
    "binary_signs",
    "causal_with_state",
    "convolution",
    "padded",
    "transposed",
    "windows",
]

#: The products of a block of rows of a transposed convolution take about this many bytes.
_SPREAD_BYTES = 1 << 20

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """Options of a `Window` whose kernel size is known only from the filter."""

    strides: tuple[int, ...] = ()
    dilations: tuple[int, ...] = ()
    pads_begin: tuple[int, ...] = ()
    pads_end: tuple[int, ...] = ()
    auto_pad: str = "explicit"

    def window(self, kernel: Sequence[int]) -> Window:
        """Return the `Window` that has these options and a kernel of size `kernel`."""
        return Window.of(
            kernel,
            self.strides,
            self.dilations,
            self.pads_begin,
            self.pads_end,
            self.auto_pad,
        )


def padded(x: Array, pads: Sequence[tuple[int, int]], value: Any = 0) -> Array:
    """Pad the spatial axes of `x` with `value`; negative padding crops."""
    if not any(begin or end for begin, end in pads):
        return x
    crop = tuple(slice(max(-begin, 0), -max(-end, 0) or None) for begin, end in pads)
    x = x[(slice(None), slice(None), *crop)]
    grown = [(max(begin, 0), max(end, 0)) for begin, end in pads]
    shape = (*x.shape[:2], *(n + b + e for n, (b, e) in zip(x.shape[2:], grown, strict=True)))
    result = np.full(shape, value, dtype=x.dtype)
    inner = tuple(slice(b, b + n) for n, (b, _) in zip(x.shape[2:], grown, strict=True))
    result[(slice(None), slice(None), *inner)] = x
    return result


def windows(x: Array, window: Window, counts: Sequence[int]) -> Array:
    """Return a read-only view of all windows in the padded data `x`.

    `x` has the shape [N, C, spatial...]. `counts` is the number of windows along each spatial axis.
    The shape of the view is [N, C, *window.kernel, *counts].
    """
    steps = x.strides[2:]
    return as_strided(
        x,
        shape=(*x.shape[:2], *window.kernel, *counts),
        strides=(
            *x.strides[:2],
            *(step * d for step, d in zip(steps, window.dilations, strict=True)),
            *(step * s for step, s in zip(steps, window.strides, strict=True)),
        ),
        writeable=False,
    )


def convolution(
    options: WindowOptions, groups: int = 1, *, grouped_filter: bool = False
) -> Function:
    """Make a kernel for the convolution of data [N, C, ...] with filters and an optional bias [O].

    Filters are [O, C/groups, ...]. With `grouped_filter` they are [G, O/G, C/G, ...], and the first
    dimension gives the number of groups.
    """

    # With small images, computing the window takes as long as the products.
    window_of = lru_cache(maxsize=64)(options.window)

    def kernel(activation: Function | None) -> Function:
        step = activation and over_step(activation)

        @unwarned
        @new_result
        def apply(x: Array, w: Array, bias: Array | None = None) -> Any:
            parts = w.shape[0] if grouped_filter else groups
            filters = w.reshape(-1, *w.shape[2:]) if grouped_filter else w
            window = window_of(filters.shape[2:])
            then = step if x.dtype in WIDE else None
            wide = None if bias is None else widened(bias)
            made = correlate(widened(x), widened(filters), window, parts, bias=wide, then=then)
            made = made.astype(x.dtype, copy=False)
            return made if activation is None or then is not None else activation(made)

        return apply

    return with_activations(kernel(None), kernel)


def binary_signs(w: Array) -> Array:
    """Convert the one-bit filter weights of BinaryConvolution to -1 and 1.

    `w` holds bits in the order of ordinary one-bit constants, which are packed from the highest bit
    of each byte down. The weights of this operation are packed from the lowest bit up, so the bits
    of each byte are reversed first.
    """
    codes = w.reshape(-1)
    whole = np.zeros(-(-codes.size // 8) * 8, dtype=np.uint8)
    whole[: codes.size] = codes
    bits = whole.reshape(-1, 8)[:, ::-1].reshape(-1)[: codes.size].reshape(w.shape)
    signs: Array = 2 * bits.astype(np.float32) - 1
    return signs


def binary(options: WindowOptions, pad_value: float) -> Function:
    """Make a kernel for the convolution of {0, 1} data with one-bit filters.

    In both, 0 counts as -1. Padding contributes `pad_value` itself.
    """

    def apply(x: Array, w: Array) -> Any:
        signs = binary_signs(w)
        data = 2 * (widened(x) != 0).astype(np.float32) - 1
        window = options.window(w.shape[2:])
        return correlate(data, signs, window, 1, fill=pad_value).astype(x.dtype, copy=False)

    return apply


def transposed(
    options: WindowOptions,
    groups: int = 1,
    *,
    grouped_filter: bool = False,
    output_padding: Sequence[int] = (),
    output_shape: Sequence[int] = (),
    placement: Callable[[int, int, int, Window, int | None], tuple[int, int]],
) -> Function:
    """Make a kernel for the transposed convolution of data [N, I, ...].

    Args:
        options: the strides, dilations and padding.
        groups: the number of groups G; it is not used with `grouped_filter`.
        grouped_filter: true if the filters are [G, I/G, O/G, ...], false if [I, O/G, ...].
        output_padding: elements to add at the end of each spatial axis of the result.
        output_shape: the spatial sizes of the result; the input `shape` of the kernel overrides it.
        placement: computes the part of the full result to keep, as (start, length). It is called
            for each spatial axis with the axis, the size of the data, the output padding, the
            window, and the size wanted for the result (None if not given). `onnx_placement` and
            `openvino_placement` are such functions.
    """

    @new_result
    def apply(x: Array, w: Array, bias: Array | None = None, shape: Array | None = None) -> Any:
        parts = w.shape[0] if grouped_filter else groups
        filters = w.reshape(-1, *w.shape[2:]) if grouped_filter else w
        window = options.window(filters.shape[2:])
        rank = len(window.kernel)
        wanted: list[int | None] = [None] * rank
        if shape is not None:
            wanted = [int(size) for size in shape.reshape(-1)]
        elif output_shape:
            wanted = list(output_shape[-rank:])
        extras = tuple(output_padding) or (0,) * rank
        full = _spread_sizes(x.shape[2:], window)
        crops = []
        for axis, size in enumerate(x.shape[2:]):
            begin, count = placement(axis, size, extras[axis], window, wanted[axis])
            crops.append((-begin, begin + count - full[axis]))
        offset = None if bias is None else widened(bias).reshape(-1, *(1,) * rank)
        # Elements beyond the spread data have only the bias.
        grown = max(map(max, crops), default=0) > 0
        with np.errstate(all="ignore"):
            spread = _spread(widened(x), widened(filters), window, parts, None if grown else offset)
            result = np.ascontiguousarray(padded(spread, crops))
            if grown and offset is not None:
                result += offset
            return result.astype(x.dtype, copy=False)

    return apply


def _spread_sizes(sizes: Sequence[int], window: Window) -> list[int]:
    """Return the spatial sizes of the result of a transposed convolution before it is cropped."""
    return [
        max((size - 1) * window.strides[axis] + window.extent(axis), 0)
        for axis, size in enumerate(sizes)
    ]


def _spread(x: Array, w: Array, window: Window, groups: int, bias: Array | None) -> Array:
    """Compute a transposed convolution of `x` with the filters `w`, before it is cropped.

    Each element is multiplied by the filter, and the overlapping results are added. `bias`
    [O, 1, ...] is added, too.
    """
    items, channels = x.shape[:2]
    sizes = x.shape[2:]
    depth = channels // groups
    outputs = groups * w.shape[1]
    full = _spread_sizes(sizes, window)
    # Cropping and adding the bias take as much memory again.
    total = items * outputs * math.prod(full)
    budget.reserve(3 * x.itemsize * total, "a transposed convolution")
    result = np.empty((items, outputs, *full), dtype=x.dtype)
    apart = all(window.extent(axis) <= stride for axis, stride in enumerate(window.strides))
    nothing = 0 in x.shape or 0 in w.shape
    if nothing or not apart or window.kernel != window.strides:
        result[...] = 0 if bias is None else bias
    if nothing:
        return result
    columns = outputs * math.prod(window.kernel)
    budget.reserve(x.itemsize * items * columns * math.prod(sizes), "a transposed convolution")
    filters = w.reshape(groups, depth, -1).swapaxes(1, 2)
    spend_products(x.size * filters.shape[1], x.dtype, "a transposed convolution")
    spend_each(x.size // depth * filters.shape[1], 5, "a transposed convolution")
    row = math.prod(sizes[1:])
    rows = max(1, _SPREAD_BYTES // max(1, columns * row * x.itemsize)) if sizes else 1
    budget.spend(
        items * -(-x.shape[2] // rows) * math.prod(window.kernel) if sizes else 1,
        "a transposed convolution",
    )
    for item, made in zip(x.reshape(items, groups, depth, -1), result, strict=True):
        for first in range(0, sizes[0] if sizes else 1, rows):
            part = np.matmul(filters, item[..., first * row : (first + rows) * row])
            parts = part.reshape(outputs, *window.kernel, -1, *sizes[1:])
            if apart and bias is not None:
                np.add(parts, bias.reshape(-1, *(1,) * (parts.ndim - 1)), out=parts)
            for offset in all_of(*map(range, window.kernel)):
                starts = [first * s for s in window.strides[:1]] + [0] * (len(sizes) - 1)
                target = tuple(
                    slice(start + k * d, start + k * d + (size - 1) * s + 1, s)
                    for start, k, d, s, size in zip(
                        starts,
                        offset,
                        window.dilations,
                        window.strides,
                        parts.shape[1 + len(sizes) :],
                        strict=True,
                    )
                )
                place = made[(slice(None), *target)]
                taken = parts[(slice(None), *offset)]
                if apart:
                    place[...] = taken
                else:
                    np.add(place, taken, out=place)
    return result


def causal_with_state(activation: str) -> Function:
    """Make a kernel for depthwise convolution along the last axis, starting from a saved state.

    The kernel takes data [N, C, L], filters [C, 1, K], an optional bias [C] and a state
    [N, C, K-1] (zeros when missing). It returns the output [N, C, L] and the new state: the last
    K-1 elements.
    """

    def apply(
        x: Array, w: Array, bias: Array | None = None, past: Array | None = None
    ) -> tuple[Array, Array]:
        kept = w.shape[-1] - 1
        if past is None:
            past = np.zeros((*x.shape[:2], kept), dtype=x.dtype)
        seen = np.concatenate((past, x), axis=-1)
        window = Window.of(w.shape[2:])
        with np.errstate(all="ignore"):
            wide = None if bias is None else widened(bias)
            result = correlate(widened(seen), widened(w), window, x.shape[1], bias=wide)
            if activation in ("silu", "swish"):
                result = result / (1 + np.exp(-result))
        state = seen[..., seen.shape[-1] - kept :]
        return result.astype(x.dtype, copy=False), np.ascontiguousarray(state)

    return apply
