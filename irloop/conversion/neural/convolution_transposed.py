"""Converts transposed convolutions.

Both formats can crop the result to an output shape, but they remove different elements: if the
number of elements to remove is odd, they split it differently between begin and end. Therefore the
conversion writes explicit paddings instead of an output shape if the sizes are known.
"""

from __future__ import annotations

from typing import Any

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.neural.convolution import (
    convolved,
    grouped,
    kernel_of,
    onnx_attributes,
    spatial_rank,
    spatial_sizes,
    ungrouped,
    with_bias,
)
from irloop.dialects.onnx import convolution as onnx
from irloop.dialects.openvino import convolution as ov
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.geometry import Window, onnx_placement, openvino_placement

__all__: list[str] = []

Backprop = ov.ConvolutionBackpropData | ov.GroupConvolutionBackpropData


@exports(ov.ConvolutionBackpropData, ov.GroupConvolutionBackpropData)
def export_backprop(
    c: Export, op: Backprop, data: Value, filters: Value, shape: Value | None = None
) -> Value:
    """Write ConvolutionBackpropData or GroupConvolutionBackpropData as ConvTranspose."""
    extra = int(isinstance(op, ov.GroupConvolutionBackpropData))
    rank, kernel = spatial_rank(c, data, filters, extra), kernel_of(filters, 2 + extra)
    flat, groups = ungrouped(c, filters) if extra else (filters, 1)
    attributes = onnx_attributes(op, rank, kernel) | {"group": groups}
    paddings = op.output_padding or (0,) * rank
    window = Window.of(
        kernel or (1,) * rank,
        op.strides,
        op.dilations,
        op.pads_begin,
        op.pads_end,
        op.auto_pad,
    )
    if shape is None:
        explicit = window.auto_pad == "explicit"
        begins = list(window.pads_begin) if explicit else [0] * len(paddings)
        ends = list(window.pads_end) if explicit else [0] * len(paddings)
        return _padded_export(c, attributes, paddings, begins, ends, data, flat)
    wanted = c.constant_of(shape)
    sizes = spatial_sizes(data)
    if wanted is None or sizes is None or kernel is None:
        return _sliced_export(c, window, attributes, paddings, data, flat, shape)
    begins, ends = [], []
    for axis, size in enumerate(sizes):
        begin, count = openvino_placement(
            axis, size, paddings[axis], window, int(wanted.reshape(-1)[axis])
        )
        full = window.strides[axis] * (size - 1) + window.extent(axis) + paddings[axis]
        begins.append(begin)
        ends.append(full - begin - count)
    return _padded_export(c, attributes, paddings, begins, ends, data, flat)


def _padded_export(
    c: Export,
    attributes: dict[str, Any],
    paddings: tuple[int, ...],
    begins: list[int],
    ends: list[int],
    data: Value,
    filters: Value,
) -> Value:
    """Emit a ConvTranspose whose result is cropped or zero-padded at both ends of each axis.

    `begins` and `ends` have one entry per spatial axis: the number of elements to remove at that
    end. A negative entry adds zeros there instead. `paddings` is the attribute output_padding.
    """
    complete = dict(attributes)
    pads = [max(pad, 0) for pad in (*begins, *ends)]
    if any(pads):
        complete["pads"] = tuple(pads)
    if any(paddings):
        complete["output_padding"] = paddings
    result = convolved(c, onnx.ConvTranspose(**complete), data, filters)
    missing = [max(-pad, 0) for pad in (*begins, *ends)]
    if not any(missing):
        return result
    rank = len(begins)
    widths = c.i64([0, 0, *missing[:rank], 0, 0, *missing[rank:]])
    return c.pad(result, widths, c.scalar(0.0, result))


def _sliced_export(
    c: Export,
    window: Window,
    attributes: dict[str, Any],
    paddings: tuple[int, ...],
    data: Value,
    filters: Value,
    shape: Value,
) -> Value:
    """Emit the transposed convolution without cropping, and a Slice to spatial sizes `shape`.

    The bounds of the Slice are computed at run time.
    """
    rank = len(paddings)
    given = attributes | ({"output_padding": paddings} if any(paddings) else {})
    full_size = convolved(c, onnx.ConvTranspose(**given), data, filters)
    wanted = c.convert(shape, ElementType.I64)
    axes = c.i64(list(range(2, 2 + rank)))
    full = c.gather(c.shape_of(full_size), axes, 0)
    if window.auto_pad.startswith("same"):
        total = c.subtract(full, wanted)
        if window.auto_pad == "same_upper":
            total = c.add(total, c.i64(1))
        begin = c.floor_divide(total, c.i64(2))
    else:
        explicit = window.auto_pad == "explicit"
        begin = c.i64(list(window.pads_begin) if explicit else [0] * rank)
    begin = c.maximum(begin, c.i64(0))
    end = c.add(begin, wanted)
    # If the wanted size exceeds the whole result, zeros are appended.
    missing = c.maximum(c.subtract(end, full), c.i64(0))
    widths = c.concat([c.i64([0] * (rank + 4)), missing], 0)
    padded = c.pad(full_size, widths, c.scalar(0.0, full_size))
    return c.slice_by(padded, begin, end, axes)


@imports(onnx.ConvTranspose)
def import_conv_transpose(
    c: Import,
    op: onnx.ConvTranspose,
    data: Value,
    filters: Value,
    bias: Value | None = None,
) -> Value:
    """Write ConvTranspose as (Group)ConvolutionBackpropData, and add the bias."""
    rank = spatial_rank(c, data, filters, 0)
    kernel = kernel_of(filters, 2) or op.kernel_shape
    begin, end = onnx.halves(op.pads)
    window = Window.of(kernel or (1,) * rank, op.strides, op.dilations, begin, end, op.auto_pad)
    weights = filters if op.group == 1 else grouped(c, filters, op.group)
    paddings = op.output_padding or (0,) * rank
    result = _imported(c, op, window, paddings, kernel, data, weights)
    return with_bias(c, result, bias, rank)


def _imported(
    c: Import,
    op: onnx.ConvTranspose,
    window: Window,
    paddings: tuple[int, ...],
    kernel: tuple[int, ...],
    data: Value,
    weights: Value,
) -> Value:
    rank = len(paddings)
    sizes = spatial_sizes(data) if kernel else None
    fixed = not op.output_shape and not window.auto_pad.startswith("same")
    if sizes is None and not fixed:
        return _by_shape(c, op, window, paddings, data, weights)
    begins, ends = [], []
    for axis in range(rank):
        size = sizes[axis] if sizes is not None else 1
        wanted = op.output_shape[-rank:][axis] if op.output_shape else None
        first, count = onnx_placement(axis, size, paddings[axis], window, wanted)
        full = window.strides[axis] * (size - 1) + window.extent(axis) + paddings[axis]
        begins.append(first)
        ends.append(full - first - count)
    attributes = {
        "strides": window.strides,
        "dilations": window.dilations,
        "pads_begin": tuple(max(pad, 0) for pad in begins),
        "pads_end": tuple(max(pad, 0) for pad in ends),
        "output_padding": paddings,
    }
    result = _emitted(c, op, attributes, data, weights)
    missing = [max(-pad, 0) for pad in ends]
    if not any(missing):
        return result
    low, high = [0] * (2 + rank), [0, 0, *missing]
    zero = c.scalar(0.0, result)
    return c.pad(result, c.i64(low), c.i64(high), zero)


def _by_shape(
    c: Import,
    op: onnx.ConvTranspose,
    window: Window,
    paddings: tuple[int, ...],
    data: Value,
    weights: Value,
) -> Value:
    """Convert a ConvTranspose to an operation that gets the output size as an input.

    The output size is the attribute `output_shape` or, without it, the size of the data times the
    strides. SAME_UPPER becomes same_lower, and any other auto_pad becomes same_upper, because
    OpenVINO crops more at the opposite end.
    """
    rank = len(paddings)
    if op.output_shape:
        wanted = c.i64(list(op.output_shape[-rank:]))
    else:
        axes = c.i64(list(range(2, 2 + rank)))
        sizes = c.gather(c.shape_of(data), axes, 0)
        wanted = c.multiply(sizes, c.i64(list(window.strides)))
    upper = window.auto_pad == "same_upper"
    attributes = {
        "strides": window.strides,
        "dilations": window.dilations,
        "pads_begin": (0,) * rank,
        "pads_end": (0,) * rank,
        "auto_pad": "same_lower" if upper else "same_upper",
        "output_padding": paddings,
    }
    return _emitted(c, op, attributes, data, weights, wanted)


def _emitted(c: Import, op: onnx.ConvTranspose, fields: dict[str, Any], *inputs: Value) -> Value:
    if op.group == 1:
        return c(ov.ConvolutionBackpropData(**fields), *inputs)
    return c(ov.GroupConvolutionBackpropData(**fields), *inputs)
