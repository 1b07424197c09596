"""Converts ONNX's poolings to OpenVINO."""

from __future__ import annotations

import math
from itertools import product as all_of
from typing import Any

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.conversion.neural.convolution import spatial_sizes
from irloop.conversion.neural.pooling import (
    ceil_is_torch,
    inverse_fill,
    lowest,
    pads_to_round_down,
    reached_pads,
)
from irloop.dialects.onnx import pooling as onnx
from irloop.dialects.openvino import convolution, elementwise, scatter
from irloop.dialects.openvino import pooling as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.geometry import Window

__all__: list[str] = []


def _attributes(c: Import, window: Window, data: Value) -> dict[str, Any]:
    """Return the attributes of the OpenVINO pooling that has the windows of `window`.

    If the spatial sizes are known, or the strides are 1, explicit pads replace automatic padding.
    """
    attributes: dict[str, Any] = {"kernel_size": window.kernel, "strides": window.strides}
    rank = len(window.kernel)
    sizes = spatial_sizes(data)
    if sizes is not None:
        begins, ends = reached_pads(window, sizes)
        return attributes | {
            "pads_begin": begins,
            # A negative end means that no window covers the last elements, and rounding down skips
            # them.
            "pads_end": tuple(max(pad, 0) for pad in ends),
        }
    # With strides of 1, automatic padding is the same for axes of any size.
    pads = [window.pads(axis, 1) for axis in range(rank)]
    if window.auto_pad.startswith("same") and any(stride != 1 for stride in window.strides):
        pads = [(0, 0)] * rank
        attributes["auto_pad"] = window.auto_pad
    attributes["pads_begin"] = tuple(begin for begin, _ in pads)
    attributes["pads_end"] = tuple(end for _, end in pads)
    if window.rounding == "ceil_torch" and not window.auto_pad.startswith("same"):
        attributes["rounding_type"] = _rounding(c, window)
    return attributes


def _rounding(c: Import, window: Window) -> str:
    if ceil_is_torch(window):
        return "ceil"
    if c.opset < 14:
        raise c.refuse(
            "it rounds up, a window may lie in the padding, and the sizes are not known",
            "give the input static spatial dimensions",
        )
    return "ceil_torch"


def _is_dilated(window: Window) -> bool:
    return any(step != 1 for step in window.dilations)


@imports(onnx.AveragePool, onnx.AveragePool1)
def import_average(c: Import, op: onnx.AveragePool | onnx.AveragePool1, data: Value) -> Value:
    """AveragePool -> AvgPool."""
    window = op.window()
    include = isinstance(op, onnx.AveragePool) and op.count_include_pad != 0
    if _is_dilated(window) and c.opset < 16:
        return _dilated_mean(c, window, data, include=include)
    if include and window.rounding == "ceil_torch":
        return _clipped_mean(c, window, data)
    attributes = _attributes(c, window, data) | {"exclude_pad": not include}
    return _emitted(c, window, attributes, data)


def _emitted(c: Import, window: Window, attributes: dict[str, Any], data: Value) -> Value:
    if _is_dilated(window):
        return c(ov.AvgPool16(**attributes, dilations=window.dilations), data)
    if attributes.get("rounding_type") == "ceil_torch":
        return c(ov.AvgPool14(**attributes), data)
    return c(ov.AvgPool(**attributes), data)


def _clipped_mean(c: Import, window: Window, data: Value) -> Value:
    """Compute the mean of each window, counting padding but no positions beyond the padding.

    A window can extend beyond the padding if the number of windows is rounded up. If the spatial
    sizes are known, the result of an AvgPool is scaled to correct for such positions. If they are
    not known, AvgPool leaves them out by itself with the rounding type ceil_torch, which needs
    opset 14; older opsets are refused.
    """
    sizes = spatial_sizes(data)
    if sizes is None:
        if c.opset < 14:
            raise c.refuse(
                "it rounds up and counts padding, and the sizes are not known",
                "give the input static spatial dimensions",
            )
        attributes = _attributes(c, window, data) | {"rounding_type": "ceil_torch"}
        return _emitted(c, window, attributes, data)
    mean = _emitted(c, window, _attributes(c, window, data) | {"exclude_pad": False}, data)
    return c.multiply(mean, inverse_fill(c, window, data, include=True))


def _dilated_mean(c: Import, window: Window, data: Value, *, include: bool) -> Value:
    """Compute an AveragePool with dilations as a depthwise convolution.

    `include` tells whether padding counts as elements (count_include_pad).
    """
    sizes = spatial_sizes(data)
    if sizes is None:
        raise c.refuse("its windows are dilated and the sizes are not known", "write opset 16")
    area = math.prod(window.kernel)
    mean = c.multiply(_dilated_sum(c, window, data), c.scalar(1.0 / area, data))
    return c.multiply(mean, inverse_fill(c, window, data, include=include))


def _dilated_sum(c: Import, window: Window, data: Value) -> Value:
    """Sum the elements of each dilated window by a convolution whose kernels contain only ones.

    Each channel is convolved separately.
    """
    import numpy as np

    dims, sizes = shape_of(data).dims, spatial_sizes(data)
    channels = dims[1] if dims is not None else None
    if not isinstance(channels, int) or sizes is None:
        raise c.refuse("its windows are dilated and the sizes are not known", "write opset 16")
    begins, ends = reached_pads(window, sizes)
    ones = c.constant(np.ones((channels, 1, 1, *window.kernel)), element_of(data))
    op = convolution.GroupConvolution(
        strides=window.strides,
        pads_begin=begins,
        pads_end=tuple(max(pad, 0) for pad in ends),
        dilations=window.dilations,
    )
    return c(op, data, ones)


@imports(onnx.MaxPool1)
def import_max1(c: Import, op: onnx.MaxPool1, data: Value) -> Value:
    """MaxPool -> MaxPool."""
    return c(ov.MaxPool1(**_attributes(c, op.window(), data)), data)


@imports(onnx.MaxPool)
def import_max(c: Import, op: onnx.MaxPool, data: Value) -> list[Value | None]:
    """Write MaxPool, or an elementwise maximum of slices.

    OpenVINO's MaxPool has indices and dilations only since opset8; before, slices are compared.
    """
    window = op.window()
    attributes = _attributes(c, window, data)
    indexed = len(c.node.outputs) > 1 and c.node.outputs[1].is_used
    rounds = attributes.get("rounding_type", "floor")
    if not indexed and not _is_dilated(window) and rounds != "ceil_torch":
        return [c(ov.MaxPool1(**attributes), data), None]
    if c.opset < 8:
        return _compared(c, window, data, indexed=indexed, by_columns=op.storage_order == 1)
    cls = ov.MaxPool14 if rounds == "ceil_torch" else ov.MaxPool
    node = c.emit(cls(**attributes, dilations=window.dilations), data)
    values, indices = node.outputs
    if op.storage_order == 1 and indexed:
        indices = _column_major(c, indices, data)
    return [values, indices]


def _compared(
    c: Import, window: Window, data: Value, *, indexed: bool, by_columns: bool
) -> list[Value | None]:
    """Emit the maximum of each window as an elementwise maximum of strided slices.

    Returns the maxima and their flat indices in `data`; the indices are None unless `indexed` is
    set. Indices number the spatial axes in row-major order or, with `by_columns`, in column-major
    order.

    With `indexed`, there is one slice for each element of a window. Otherwise there are fewer, see
    `_compared_by_axes`.

    Raises:
        RefusedError: when the shape of `data` is not fully known.
    """
    shape = shape_of(data).static()
    if shape is None:
        raise c.refuse(
            "MaxPool of opset7 has neither indices nor dilations, and the sizes are not known",
            "write opset8 or newer",
        )
    sizes, rank = shape[2:], len(window.kernel)
    pads = [window.reach(axis, size) for axis, size in enumerate(sizes)]
    low, high = ([max(pad, 0) for pad in ends] for ends in zip(*pads, strict=True))
    least = c.scalar(lowest(element_of(data)), data)
    padded = c.pad(data, c.i64([0, 0, *low]), c.i64([0, 0, *high]), least)
    counts = [window.outputs(axis, size) for axis, size in enumerate(sizes)]
    if not indexed:
        return [_compared_by_axes(c, window, padded, counts), None]
    axes = list(range(2, 2 + rank))
    best: Value | None = None
    where: Value | None = None
    for offset in all_of(*map(range, window.kernel)):
        starts = [step * place for step, place in zip(window.dilations, offset, strict=True)]
        ends = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, counts, window.strides, strict=True)
        ]
        values = c.slice(padded, starts, ends, axes, window.strides)
        index = _flat_places(c, window, shape, offset, by_columns=by_columns)
        if best is None or where is None:
            best, where = values, index
            continue
        where = c.select(c.greater(values, best), index, where)
        best = c.maximum(best, values)
    return [best, where]


def _compared_by_axes(c: Import, window: Window, padded: Value, counts: list[int]) -> Value:
    """Emit the maximum of each window: maxima of slices along one axis, then along the next.

    A window of 70 by 70 then needs 140 slices instead of 4,900, one for each element.
    """
    best = padded
    for axis, length in enumerate(window.kernel):
        stride, source = window.strides[axis], best
        for place in range(length):
            start = window.dilations[axis] * place
            end = start + (counts[axis] - 1) * stride + 1
            values = c.slice(source, [start], [end], [axis + 2], [stride])
            best = c.maximum(best, values) if place else values
    return best


def _flat_places(
    c: Import,
    window: Window,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    *,
    by_columns: bool,
) -> Value:
    """Emit the flat indices of the elements that are at `offset` in their windows.

    There is one index for each window. `shape` is the shape [N, C, spatial...] of the data, and
    `offset` the position in the kernel: (0, 1) is the second element of the first row. The flat
    order of the spatial axes is row-major or, with `by_columns`, column-major. Indices do not start
    again at 0 for each channel or batch item.
    """
    import numpy as np

    from irloop.kernels.pooling import flat_index

    sizes = shape[2:]
    places = []
    for axis, size in enumerate(sizes):
        start = np.arange(window.outputs(axis, size)) * window.strides[axis]
        place = start - window.pads(axis, size)[0] + offset[axis] * window.dilations[axis]
        places.append(place.reshape(-1, *(1,) * (len(sizes) - 1 - axis)))
    return c.i64(flat_index(places, shape, 0, by_columns))


def _column_major(c: Import, indices: Value, data: Value) -> Value:
    """Convert row-major flat indices to column-major ones.

    In column-major order the first spatial axis varies fastest.
    """
    sizes = spatial_sizes(data)
    if sizes is None:
        raise c.refuse(
            "storage_order 1 needs known sizes", "give the input static spatial dimensions"
        )
    plane = math.prod(sizes)

    def number(value: int) -> Value:
        return c.i64(value)

    rest = c(elementwise.FloorMod(), indices, number(plane))
    result = c.subtract(indices, rest)
    for axis in reversed(range(len(sizes))):
        place = c(elementwise.FloorMod(), rest, number(sizes[axis]))
        rest = c.divide(rest, number(sizes[axis]))
        # The stride of an axis is the product of the sizes before it.
        stride = math.prod(sizes[:axis])
        result = c.add(result, c.multiply(place, number(stride)))
    return result


@imports(onnx.LpPool, onnx.LpPool1, onnx.LpPool2)
def import_lp(c: Import, op: onnx.LpPool | onnx.LpPool1 | onnx.LpPool2, data: Value) -> Value:
    """Write LpPool as (kernel area * mean of |x|^p in the window) ^ (1 / p).

    The mean comes from an average pooling that counts the padding. For dilated windows before opset
    16, the sum in the window is built directly.
    """
    window = op.window()
    power = c.scalar(float(op.p), data)
    powers = c(elementwise.Power(), c(elementwise.Abs(), data), power)
    if _is_dilated(window) and c.opset < 16:
        total = _dilated_sum(c, window, powers)
    else:
        attributes = _attributes(c, window, powers) | {"exclude_pad": False}
        if attributes.get("rounding_type") == "ceil_torch":
            raise c.refuse(
                "it rounds up and the sizes are not known", "give the input a static shape"
            )
        if attributes.get("rounding_type") == "ceil":
            # AvgPool would divide by fewer elements at the end if it has no padding.
            _, ends = pads_to_round_down(window)
            attributes |= {"pads_end": ends, "rounding_type": "floor"}
        area = c.scalar(float(math.prod(window.kernel)), data)
        total = c.multiply(_emitted(c, window, attributes, powers), area)
    return c(elementwise.Power(), total, c.scalar(1.0 / float(op.p), data))


def _spatial_axes(c: Import, data: Value) -> list[int]:
    rank = c.rank_of(data)
    return list(range(2, rank))


@imports(onnx.GlobalAveragePool)
def import_global_average(c: Import, op: onnx.GlobalAveragePool, data: Value) -> Value:
    """GlobalAveragePool -> ReduceMean."""
    return c.reduce("Mean", data, _spatial_axes(c, data))


@imports(onnx.GlobalMaxPool)
def import_global_max(c: Import, op: onnx.GlobalMaxPool, data: Value) -> Value:
    """GlobalMaxPool -> ReduceMax."""
    return c.reduce("Max", data, _spatial_axes(c, data))


@imports(onnx.GlobalLpPool, onnx.GlobalLpPool1)
def import_global_lp(c: Import, op: onnx.GlobalLpPool | onnx.GlobalLpPool1, data: Value) -> Value:
    """Write GlobalLpPool as ReduceL1 or ReduceL2, or for other p as the root of a sum of powers."""
    axes = _spatial_axes(c, data)
    if op.p in (1, 2):
        return c.reduce(f"L{int(op.p)}", data, axes)
    power = c.scalar(float(op.p), data)
    powers = c(elementwise.Power(), c(elementwise.Abs(), data), power)
    total = c.reduce("Sum", powers, axes)
    return c(elementwise.Power(), total, c.scalar(1.0 / float(op.p), data))


@imports(onnx.MaxUnpool)
def import_max_unpool(
    c: Import,
    op: onnx.MaxUnpool,
    data: Value,
    indices: Value,
    shape: Value | None = None,
) -> Value:
    """Write MaxUnpool as ScatterElementsUpdate into zeros, with a Pad for a given output shape."""
    import numpy as np

    sizes = shape_of(data).static()
    if sizes is None:
        raise c.refuse("MaxUnpool needs known sizes", "give the input a static shape")
    inner = op.inner_shape(sizes)
    flat = c.constant(np.zeros(math.prod(inner)), element_of(data))
    where = c.reshape(c.convert(indices, ElementType.I64), [-1])
    values = c.reshape(data, [-1])
    filled = c(scatter.ScatterElementsUpdate(), flat, where, values, c.i64(0))
    result = c.reshape(filled, inner)
    if shape is None:
        return result
    wanted = c.convert(shape, ElementType.I64)
    missing = c.subtract(wanted, c.i64(inner))
    zero = c.scalar(0.0, data)
    return c.pad(result, c.i64([0] * len(inner)), missing, zero)
