"""Converts OpenVINO's poolings to ONNX.

With rounding type `ceil`, OpenVINO keeps every window, whereas ONNX drops a window that starts in
the end padding. If the sizes are known, the padding is chosen so that nothing is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.neural.convolution import spatial_sizes
from irloop.dialects.onnx import convolution, elementwise
from irloop.dialects.onnx import pooling as onnx
from irloop.dialects.openvino import pooling as ov
from irloop.dialects.writing.writer import Writer
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.geometry import Window

__all__ = ["ceil_is_torch", "inverse_fill", "lowest", "pads_to_round_down", "reached_pads"]


def ceil_is_torch(window: Window) -> bool:
    """Return whether no window can start in the end padding.

    Both formats then round the number of windows in the same way.
    """
    return all(
        window.pads(axis, 0)[1] + window.strides[axis] <= window.extent(axis)
        for axis in range(len(window.kernel))
    )


def reached_pads(window: Window, sizes: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how many padding elements the windows read before and after each axis.

    The first tuple has the numbers before the axes, the second the numbers after them. A negative
    number means that no window reaches the last elements of the axis.

    If the declared end padding exceeds the number after an axis by less than a stride, the declared
    padding is returned instead. The number of windows stays the same.
    """
    begins, ends = [], []
    for axis, size in enumerate(sizes):
        begin, end = window.reach(axis, size)
        declared = window.pads(axis, size)[1]
        fits = end <= declared and declared - end < window.strides[axis]
        begins.append(begin)
        ends.append(declared if fits else end)
    return tuple(begins), tuple(ends)


def pads_to_round_down(window: Window) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the padding with which rounding down gives as many windows as rounding up.

    The tuples have the numbers of padding elements before and after each axis. The padding must not
    depend on the size of an axis, as automatic padding does.
    """
    begins, ends = [], []
    for axis, stride in enumerate(window.strides):
        begin, end = window.pads(axis, 0)
        begins.append(begin)
        ends.append(end + stride - 1)
    return tuple(begins), tuple(ends)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The attributes of the ONNX pooling, and the padding to apply before it."""

    attributes: dict[str, Any]
    before: tuple[tuple[int, ...], tuple[int, ...]] | None = None


def _steps(window: Window) -> dict[str, Any]:
    attributes: dict[str, Any] = {"kernel_shape": window.kernel, "strides": window.strides}
    if any(step != 1 for step in window.dilations):
        attributes["dilations"] = window.dilations
    return attributes


def _plan(
    c: Export, window: Window, data: Value, *, include: bool = False, is_mean: bool = False
) -> _Plan:
    """Plan a pooling of `data`.

    `is_mean` means that the pooling divides by a number of elements, and `include` that this number
    includes the padding.

    Raises:
        RefusedError: for a MaxPool with dilations before opset 10.
    """
    rank = len(window.kernel)
    attributes = _steps(window)
    if "dilations" in attributes and not is_mean and c.opset < 10:
        raise c.refuse("MaxPool has dilations since opset 10", opset=10)
    sizes = spatial_sizes(data)
    if sizes is None:
        rounds_up = window.rounding == "ceil" and not window.auto_pad.startswith("same")
        if rounds_up and (include or not (is_mean or ceil_is_torch(window))):
            # In ONNX, the divisor of a mean does not include elements beyond the padding; in
            # OpenVINO it does.
            return _Plan(attributes, pads_to_round_down(window))
        return _Plan(attributes | _dynamic(c, window))
    begins, ends = reached_pads(window, sizes)
    if any(pad < 0 for pad in ends):
        # If the padding is negative, no window covers the last elements, and rounding down skips
        # them.
        ends = tuple(max(pad, 0) for pad in ends)
    too_wide = any(max(begins[axis], ends[axis]) >= window.kernel[axis] for axis in range(rank))
    if too_wide:
        return _Plan(attributes, (begins, ends))
    if any((*begins, *ends)):
        attributes["pads"] = (*begins, *ends)
    return _Plan(attributes)


def _dynamic(c: Export, window: Window) -> dict[str, Any]:
    """Return ONNX's padding and rounding attributes for a pooling over axes of unknown size.

    Raises:
        RefusedError: when the rounding would depend on the sizes.
    """
    if window.auto_pad.startswith("same"):
        return {"auto_pad": window.auto_pad.upper()}
    attributes: dict[str, Any] = {}
    pads = [window.pads(axis, 0) for axis in range(len(window.kernel))]
    if any(any(pair) for pair in pads):
        attributes["pads"] = tuple(low for low, _ in pads) + tuple(high for _, high in pads)
    if window.rounding == "ceil" and not ceil_is_torch(window):
        raise c.refuse(
            "it rounds up, a window may lie in the padding, and the sizes are not known",
            "give the input static spatial dimensions",
        )
    if window.rounding != "floor":
        attributes["ceil_mode"] = 1
    return attributes


def _padded(c: Export, plan: _Plan, data: Value, fill: float) -> Value:
    if plan.before is None:
        return data
    begins, ends = plan.before
    return c.pad(data, c.i64([0, 0, *begins, 0, 0, *ends]), c.scalar(fill, data))


@exports(ov.AvgPool, ov.AvgPool14, ov.AvgPool16)
def export_average(c: Export, op: ov.AvgPool | ov.AvgPool14 | ov.AvgPool16, data: Value) -> Value:
    """AvgPool -> AveragePool."""
    window = op.window()
    element = element_of(data)
    is_integer = element.is_integer
    x = c.convert(data, ElementType.F32) if is_integer else data
    result = _average(c, op, window, x)
    if not is_integer:
        return result
    return c.convert(c(elementwise.Round(), result), element)


def _average(
    c: Export, op: ov.AvgPool | ov.AvgPool14 | ov.AvgPool16, window: Window, x: Value
) -> Value:
    include = op.counts_padding()
    if any(step != 1 for step in window.dilations) and c.opset < 19:
        return _average_by_convolution(c, op, window, x)
    if include and window.rounding == "ceil_torch":
        # The divisor in ONNX also counts elements within the declared padding, but none beyond it.
        attributes = _steps(window) | _dynamic(c, window)
        if not _rounds_up(window, x):
            # Shape inference before opset 19 wrongly counts a window that starts in the padding at
            # the end.
            attributes.pop("ceil_mode", None)
        pool = onnx.AveragePool(**attributes, count_include_pad=1)
        return c.numeric(pool, x)
    plan = _plan(c, window, x, include=include, is_mean=True)
    if plan.before is None:
        pool = onnx.AveragePool(**plan.attributes, count_include_pad=int(include))
        return c.numeric(pool, x)
    padded = _padded(c, plan, x, 0.0)
    mean = c.numeric(onnx.AveragePool(**plan.attributes), padded)
    return mean if include else c.multiply(mean, inverse_fill(c, window, x, include=False))


def _average_by_convolution(
    c: Export, op: ov.AvgPool | ov.AvgPool14 | ov.AvgPool16, window: Window, x: Value
) -> Value:
    """Emit average pooling as a convolution of each channel with constant weights.

    This is needed for dilations, because AveragePool has them only since opset 19.
    """
    import numpy as np

    channels, sizes = shape_of(x).dim(1), spatial_sizes(x)
    partial = op.counts_padding() and window.rounding == "ceil_torch" and _rounds_up(window, x)
    if not isinstance(channels, int) or sizes is None or partial:
        raise c.refuse("AveragePool has dilations since opset 19", opset=19)
    begins, ends = reached_pads(window, sizes)
    pads = (*begins, *(max(pad, 0) for pad in ends))
    weight = np.full((channels, 1, *window.kernel), 1 / np.prod(window.kernel))
    means = c.numeric(
        convolution.Conv(**_steps(window), pads=pads, group=channels),
        x,
        c.constant(weight, element_of(x)),
    )
    return (
        means
        if op.counts_padding()
        else c.multiply(means, inverse_fill(c, window, x, include=False))
    )


def _rounds_up(window: Window, x: Value) -> bool:
    """Return whether `window` may have more positions on `x` than with rounding "floor".

    The result is also True if a spatial size of `x` is unknown.
    """
    sizes = spatial_sizes(x)
    floor = replace(window, rounding="floor")
    return sizes is None or any(
        window.outputs(axis, size) != floor.outputs(axis, size) for axis, size in enumerate(sizes)
    )


def inverse_fill(c: Writer, window: Window, data: Value, *, include: bool) -> Value:
    """For each window, the area of the kernel divided by the number of elements that count.

    The spatial sizes of `data` are known. Elements of the padding count only with `include`, and
    positions beyond the padding never count. The result is a constant [1, 1, ...].
    """
    import numpy as np

    from irloop.kernels.pooling import members

    sizes = spatial_sizes(data)
    assert sizes is not None, "padding before the pooling needs known sizes"
    share = np.ones(())
    for axis, size in enumerate(sizes):
        number = members(window, axis, size, include_pad=include, clip_end=True)
        share = share[..., None] * (window.kernel[axis] / number)
    return c.constant(share[None, None], element_of(data))


@exports(ov.MaxPool1)
def export_max1(c: Export, op: ov.MaxPool1, data: Value) -> Value:
    """MaxPool -> MaxPool."""
    return _maximum(c, op.window(), data)


def _maximum(c: Export, window: Window, data: Value) -> Value:
    plan = _plan(c, window, data)
    chosen = _max_element(c, data)

    def build(x: Value) -> Value:
        pool = onnx.MaxPool(**plan.attributes)
        return c.emit(pool, _padded(c, plan, x, lowest(element_of(x))), n_outputs=1).outputs[0]

    return c.computed_in(chosen, build, data)


def _max_element(c: Export, data: Value) -> ElementType:
    """Return the element type in which the exported MaxPool computes `data`.

    ONNX MaxPool supports floats, since opset 12 also 8-bit integers, and since opset 22 also bf16.
    Before these opsets, 8-bit integers and bf16 are computed in f32. Other integers are computed in
    f64 in every opset.
    """
    element = element_of(data)
    if element in (ElementType.I8, ElementType.U8):
        return element if c.opset >= 12 else ElementType.F32
    if element.is_integer:
        return ElementType.F64
    return ElementType.F32 if element is ElementType.BF16 and c.opset < 22 else element


def lowest(element: ElementType) -> float:
    """Return the padding number that never changes a MaxPool: the lowest value of `element`.

    It is -128 for i8, 0 for u8 and minus infinity for all other types.
    """
    if element is ElementType.I8:
        return -128.0
    return 0.0 if element is ElementType.U8 else float("-inf")


@exports(ov.MaxPool, ov.MaxPool14)
def export_max(c: Export, op: ov.MaxPool | ov.MaxPool14, data: Value) -> list[Value | None]:
    """Write MaxPool with data and indices as MaxPool; indices that nothing reads are not computed.

    The result is a list of the pooled data and the indices, with None for unused indices.
    """
    window = op.window()
    if not any(value.is_used for value in c.node.outputs[1:]):
        return [_maximum(c, window, data), None]
    plan = _plan(c, window, data)
    if plan.before is not None:
        raise c.refuse(
            "its indices are used, and a window may lie entirely in the padding",
            "give the input static spatial dimensions, or less padding",
        )
    element, chosen = element_of(data), _max_element(c, data)
    node = c.emit(onnx.MaxPool(**plan.attributes), c.convert(data, chosen), n_outputs=2)
    values, indices = node.outputs
    rank = 2 + len(window.kernel)
    axis = op.axis % rank
    if axis:
        indices = c(elementwise.Mod(), indices, _volume(c, data, axis))
    return [c.convert(values, element), c.convert(indices, op.index_element_type)]


def _volume(c: Export, data: Value, axis: int) -> Value:
    """The product of the dimensions from `axis` on."""
    dims = shape_of(data).dims
    known = [] if dims is None else [dim for dim in dims[axis:] if isinstance(dim, int)]
    if dims is not None and len(known) == len(dims) - axis:
        total = 1
        for dim in known:
            total *= dim
        return c.i64(total)
    rank = c.rank_of(data)
    sizes = c.gather(c.shape_of(data), c.i64(list(range(axis, rank))), 0)
    return c.reduce("Prod", sizes, [0], keep=False)
