"""Converts deformable and causal convolution."""

from __future__ import annotations

import math
from functools import reduce
from itertools import product as all_of
from typing import Any

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.framework.weights import reshaped
from irloop.conversion.neural.convolution import (
    kernel_of,
    onnx_attributes,
    reshaped_bias,
    spatial_sizes,
)
from irloop.dialects.onnx import convolution as onnx
from irloop.dialects.onnx import elementwise as onnx_elementwise
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.onnx.gather import GatherElements
from irloop.dialects.openvino import activation, slicing
from irloop.dialects.openvino import convolution as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.geometry import Window

__all__: list[str] = []

Deformable = ov.DeformableConvolution | ov.DeformableConvolution1


@exports(ov.DeformableConvolution, ov.DeformableConvolution1)
def export_deformable(
    c: Export,
    op: Deformable,
    data: Value,
    offset: Value,
    filters: Value,
    mask: Value | None = None,
) -> Value:
    """Write DeformableConvolution as DeformConv, or before opset 19 as Gathers and a MatMul.

    Near the border, DeformConv interpolates between the data and zeros outside it. OpenVINO does
    this only with bilinear_interpolation_pad. Without it, the positions are clamped to the data, so
    that DeformConv reads no zeros, and a mask sets the samples outside the data to 0.
    """
    kernel, sizes = kernel_of(filters, 2), spatial_sizes(data)
    if kernel is None or sizes is None:
        raise c.refuse("its sizes are not known", "give data and filter static shapes")
    window = Window.of(kernel, op.strides, op.dilations, op.pads_begin, op.pads_end, op.auto_pad)
    if c.opset < 19:
        return _gathered(c, op, window, sizes, data, offset, filters, mask)
    if not op.blends():
        offset, mask = _moved_inside(c, op, window, sizes, offset, mask)
    pads = [window.pads(axis, size) for axis, size in enumerate(sizes)]
    attributes = onnx_attributes(op, len(sizes), kernel) | {
        "pads": (*(begin for begin, _ in pads), *(end for _, end in pads)),
        "group": op.group,
        "offset_group": op.deformable_group,
    }
    return c(onnx.DeformConv(**attributes), data, filters, offset, None, mask)


def _base(c: Export, window: Window, sizes: list[int], offset: Value) -> Value:
    """Emit the positions that each window reads if all offsets are 0.

    The result is a constant [1, K, axes, windows], where K is the number of elements in a window.
    """
    from irloop.kernels.deformable import base_places

    places = base_places(window, sizes).transpose(0, 2, 1)[None]
    return c.constant(places, element_of(offset))


def _inside(c: Export, place: Value, size: int) -> Value:
    """1 for positions with 0 <= place < size, else 0."""
    low = c.less(place, c.scalar(0.0, place))
    high = c.less(place, c.scalar(float(size), place))
    zero, one = c.scalar(0.0, place), c.scalar(1.0, place)
    return c.select(low, zero, c.select(high, one, zero))


def _moved_inside(
    c: Export,
    op: Deformable,
    window: Window,
    sizes: list[int],
    offset: Value,
    mask: Value | None,
) -> tuple[Value, Value]:
    """Clamp the offsets of a deformable convolution so that every position is inside the data.

    Returns two values: the new offsets, and a mask that is 0 for positions that were outside. If
    `mask` is not None, the returned mask is the product of both masks.
    """
    rank, groups = len(sizes), op.deformable_group
    elements, windows = _counts(window, sizes)
    base = _base(c, window, sizes, offset)
    moves = c.reshape(offset, [-1, elements, rank, windows])
    places = c.add(moves, base)
    bounded, kept = [], None
    for axis, size in enumerate(sizes):
        place = c.gather(places, c.i64([axis]), 2)
        bounded.append(c.clip(place, 0.0, float(size - 1)))
        inside = _inside(c, place, size)
        kept = inside if kept is None else c.multiply(kept, inside)
    assert kept is not None, "a convolution has at least one spatial axis"
    moved = c.subtract(c.concat(bounded, 2), base)
    outputs = [window.outputs(axis, size) for axis, size in enumerate(sizes)]
    new_offset = c.reshape(moved, [-1, groups * elements * rank, *outputs])
    share = c.reshape(kept, [-1, groups * elements, *outputs])
    return new_offset, share if mask is None else c.multiply(mask, share)


def _counts(window: Window, sizes: list[int]) -> tuple[int, int]:
    elements = windows = 1
    for axis, size in enumerate(sizes):
        elements *= window.kernel[axis]
        windows *= window.outputs(axis, size)
    return elements, windows


def _gathered(
    c: Export,
    op: Deformable,
    window: Window,
    sizes: list[int],
    data: Value,
    offset: Value,
    filters: Value,
    mask: Value | None,
) -> Value:
    """Gather the elements of all windows; multiply them by the filters, group by group."""
    rank, groups = len(sizes), op.deformable_group
    elements, windows = _counts(window, sizes)
    channels = shape_of(data).dim(1)
    outputs = shape_of(filters).dim(0)
    if not isinstance(channels, int) or not isinstance(outputs, int):
        raise c.refuse(
            "the number of its channels is not known", "give data and filter static shapes"
        )
    moves = c.reshape(offset, [-1, elements, rank, windows])
    places = c.add(moves, _base(c, window, sizes, offset))
    corners = [
        _axis_corners(c, c.gather(places, c.i64([axis]), 2), size, blend=op.blends())
        for axis, size in enumerate(sizes)
    ]
    flat = c.reshape(data, [-1, channels // groups, math.prod(sizes)])
    parts = []
    for chosen in all_of(*corners):
        index, weight = chosen[0]
        for (place, share), size in zip(chosen[1:], sizes[1:], strict=True):
            index = c.add(c.multiply(index, c.i64(size)), place)
            weight = c.multiply(weight, share)
        parts.append(_corner_values(c, flat, index, weight, channels // groups, elements * windows))
    columns = reduce(c.add, parts)
    if mask is not None:
        columns = c.multiply(columns, c.reshape(mask, [-1, 1, elements * windows]))
    depth = channels // op.group * elements
    columns = c.reshape(columns, [-1, op.group, depth, windows])
    weights = reshaped(c, filters, [op.group, outputs // op.group, depth])
    result = c.numeric(onnx_matmul.MatMul(), weights, columns, small=None, half=None)
    shape = [window.outputs(axis, size) for axis, size in enumerate(sizes)]
    return c.reshape(result, [-1, outputs, *shape])


def _axis_corners(c: Export, place: Value, size: int, *, blend: bool) -> list[tuple[Value, Value]]:
    """Return (index, weight) of the two elements next to each position on one axis.

    The pairs are for the lower and the upper neighbour; indices are i64. A neighbour outside the
    axis gets the index of the nearest element.

    With `blend`, a neighbour outside the axis has the weight 0. Without it, both neighbours have
    the weight 0 if the position is below 0, or is `size` or more. A position between the last
    element and `size` then counts as the last element.
    """
    scale = None if blend else _inside(c, place, size)
    if not blend:
        place = c.clip(place, 0.0, float(size - 1))
    first = c(onnx_elementwise.Floor(), place)
    fraction = c.subtract(place, first)
    rest = c.subtract(c.scalar(1.0, place), fraction)
    result = []
    for step, weight in ((0.0, rest), (1.0, fraction)):
        element = c.add(first, c.scalar(step, place))
        share = c.multiply(weight, _inside(c, element, size) if scale is None else scale)
        bounded = c.clip(element, 0.0, float(size - 1))
        result.append((c.convert(bounded, ElementType.I64), share))
    return result


def _corner_values(
    c: Export, flat: Value, index: Value, weight: Value, channels: int, count: int
) -> Value:
    """Emit the elements of `flat` at the positions `index`, multiplied by `weight`.

    `flat` [N, C, P] holds N maps of C channels and P pixels. `index` and `weight` hold `count`
    entries for each map, which apply to all of its channels. The result is [N, C, `count`].
    """
    row = c.reshape(index, [-1, 1, count])
    spread = c.expand(row, c.i64([1, channels, 1]))
    values = c(GatherElements(axis=2), flat, spread)
    return c.multiply(values, c.reshape(weight, [-1, 1, count]))


@imports(onnx.DeformConv)
def import_deformable(
    c: Import,
    op: onnx.DeformConv,
    data: Value,
    filters: Value,
    offset: Value,
    bias: Value | None = None,
    mask: Value | None = None,
) -> Value:
    """Write DeformConv as DeformableConvolution of opset8, and add the bias."""
    if c.opset < 8:
        raise c.refuse(
            "DeformableConvolution of opset7 treats the border differently", "write opset8 or newer"
        )
    rank = shape_of(data).rank or shape_of(filters).rank
    if rank != 4:
        raise c.refuse("OpenVINO's deformable convolution has two spatial axes")
    begin, end = onnx.halves(op.pads or (0, 0, 0, 0))
    attributes: dict[str, Any] = {
        "strides": op.strides or (1, 1),
        "dilations": op.dilations or (1, 1),
        "pads_begin": begin,
        "pads_end": end,
        "group": op.group,
        "deformable_group": op.offset_group,
    }
    target = ov.DeformableConvolution(**attributes, bilinear_interpolation_pad=True)
    result = c(target, data, offset, filters, mask)
    return result if bias is None else c.add(result, reshaped_bias(c, bias, 2))


@imports(onnx.CausalConvWithState)
def import_causal(
    c: Import,
    op: onnx.CausalConvWithState,
    data: Value,
    filters: Value,
    bias: Value | None = None,
    past: Value | None = None,
) -> list[Value]:
    """Write CausalConvWithState as a GroupConvolution of the state and the data, joined by Concat.

    The second result, the new state, is the end of the Concat.
    """
    dims = shape_of(filters).static()
    if dims is None:
        raise c.refuse("the shape of its filter is not known", "give it a static shape")
    if len(dims) != 3:
        raise c.refuse(f"its filter has rank {len(dims)}, not 3")
    channels, _, width = dims
    kept = width - 1
    seen = data
    if kept and past is None:
        items = c.sizes_of(data, [0])
        shape = c.concat([items, c.i64([channels, kept])], 0)
        past = c.broadcast(c.constant(0, element_of(data)), shape)
    if kept and past is not None:
        seen = c.concat([past, data], 2)
    grouped = reshaped(c, filters, [channels, 1, 1, width])
    conv = ov.GroupConvolution(strides=(1,), pads_begin=(0,), pads_end=(0,), dilations=(1,))
    result = c(conv, seen, grouped)
    if bias is not None:
        result = c.add(result, reshaped_bias(c, bias, 1))
    if op.activation in ("silu", "swish"):
        result = c(activation.Swish(), result)
    return [result, _last(c, seen, kept)]


def _last(c: Import, seen: Value, kept: int) -> Value:
    """Return the last `kept` elements of `seen` along axis 2."""
    if kept == 0:
        # If nothing is kept, the slice starts at the end of the axis and is empty.
        size = c.sizes_of(seen, [2])
        return c.slice_by(seen, size, size, [2], c.i64([1]))
    node = c.emit(slicing.VariadicSplit(), seen, c.i64(2), c.i64([-1, kept]), n_outputs=2)
    return node.outputs[1]
