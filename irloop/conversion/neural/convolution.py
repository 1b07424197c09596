"""Converts convolutions.

Padding is written as explicit numbers if the sizes are known, because runtimes differ in how they
divide an odd padding between the two ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.conversion.framework.weights import reshaped
from irloop.dialects.onnx import convolution as onnx
from irloop.dialects.openvino import convolution as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.types import Dim, ElementType
from irloop.kernels.geometry import Window, normalised_auto_pad

__all__ = [
    "convolved",
    "explicit_pads",
    "grouped",
    "kernel_of",
    "onnx_attributes",
    "reshaped_bias",
    "spatial_rank",
    "spatial_sizes",
    "ungrouped",
    "with_bias",
]


def spatial_sizes(value: Value) -> list[int] | None:
    """The spatial sizes of data [N, C, ...], or None if one is unknown."""
    dims = shape_of(value).dims
    sizes = [] if dims is None else [dim for dim in dims[2:] if isinstance(dim, int)]
    return sizes if dims is not None and len(sizes) == len(dims) - 2 else None


def kernel_of(filters: Value, first: int) -> tuple[int, ...] | None:
    """The kernel size of filters whose spatial axes start at `first`; None if it is not known."""
    dims: tuple[Dim, ...] | None = shape_of(filters).dims
    sizes = () if dims is None else tuple(dim for dim in dims[first:] if isinstance(dim, int))
    return sizes if dims is not None and len(sizes) == len(dims) - first else None


def explicit_pads(
    window: Window, sizes: Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The number of padding elements before and after each spatial axis.

    None if they depend on sizes, as with auto_pad same and strides, and `sizes` is None.
    """
    if not window.auto_pad.startswith("same"):
        pads = [window.pads(axis, 0) for axis in range(len(window.kernel))]
    elif all(stride == 1 for stride in window.strides):
        # With these strides, the padding is the same for axes of any size.
        pads = [window.pads(axis, 1) for axis in range(len(window.kernel))]
    elif sizes is None:
        return None
    else:
        pads = [window.pads(axis, size) for axis, size in enumerate(sizes)]
    return tuple(begin for begin, _ in pads), tuple(end for _, end in pads)


def spatial_rank(c: Conversion, data: Value, filters: Value, extra: int) -> int:
    """The number of spatial axes; `extra` is 1 for filters with an axis of groups.

    Raises:
        RefusedError: when no rank is known.
    """
    rank = shape_of(data).rank
    if rank is not None:
        return rank - 2
    rank = shape_of(filters).rank
    if rank is None:
        raise c.refuse("neither data nor filter has a known rank", "declare the rank of the input")
    return rank - 2 - extra


def _onnx_padding(
    op: ov.Windowed, data: Value, kernel: tuple[int, ...] | None, rank: int
) -> dict[str, Any]:
    """The attributes auto_pad and pads of the ONNX convolution that replaces `op`."""
    auto_pad = normalised_auto_pad(op.auto_pad)
    window = Window.of(
        kernel or (1,) * rank,
        op.strides,
        op.dilations,
        op.pads_begin,
        op.pads_end,
        auto_pad,
    )
    known = kernel is not None or not auto_pad.startswith("same")
    pads = explicit_pads(window, spatial_sizes(data)) if known else None
    if pads is None:
        return {"auto_pad": auto_pad.upper()}
    return {"pads": (*pads[0], *pads[1])} if any((*pads[0], *pads[1])) else {}


def onnx_attributes(op: ov.Windowed, rank: int, kernel: tuple[int, ...] | None) -> dict[str, Any]:
    """The strides, dilations and kernel_shape of the ONNX convolution that replaces `op`."""
    attributes: dict[str, Any] = {"strides": op.strides or (1,) * rank}
    if any(dilation != 1 for dilation in op.dilations):
        attributes["dilations"] = op.dilations
    if kernel is not None:
        attributes["kernel_shape"] = kernel
    return attributes


def ungrouped(c: Export, filters: Value) -> tuple[Value, int]:
    """Reshape filters [G, A, B, ...] to [G*A, B, ...]; also return G."""
    dims = shape_of(filters).static()
    if dims is None:
        raise c.refuse("the shape of a grouped filter is not known", "give it a static shape")
    return reshaped(c, filters, [dims[0] * dims[1], *dims[2:]]), dims[0]


def convolved(c: Export, op: onnx.Windowed, data: Value, filters: Value) -> Value:
    """Emit the convolution `op`, computed in f32 if it does not support the operands' type."""
    if element_of(data).is_integer:
        return c.computed_in(ElementType.F32, lambda *wide: c(op, *wide), data, filters)
    return c.numeric(op, data, filters)


@exports(ov.Convolution)
def export_convolution(c: Export, op: ov.Convolution, data: Value, filters: Value) -> Value:
    """Convolution -> Conv."""
    rank, kernel = spatial_rank(c, data, filters, 0), kernel_of(filters, 2)
    attributes = onnx_attributes(op, rank, kernel) | _onnx_padding(op, data, kernel, rank)
    return convolved(c, onnx.Conv(**attributes), data, filters)


@exports(ov.GroupConvolution)
def export_group_convolution(
    c: Export, op: ov.GroupConvolution, data: Value, filters: Value
) -> Value:
    """GroupConvolution -> Conv with groups."""
    rank, kernel = spatial_rank(c, data, filters, 1), kernel_of(filters, 3)
    attributes = onnx_attributes(op, rank, kernel) | _onnx_padding(op, data, kernel, rank)
    flat, groups = ungrouped(c, filters)
    return convolved(c, onnx.Conv(**attributes, group=groups), data, flat)


@exports(ov.BinaryConvolution)
def export_binary(c: Export, op: ov.BinaryConvolution, data: Value, filters: Value) -> Value:
    """Write BinaryConvolution as Conv; the bits 0 and 1 of its operands become -1 and 1 first."""
    import numpy as np

    from irloop.kernels.convolution import binary_signs

    op_of_filters = filters.producer.op
    codes = op_of_filters.tensor.numpy() if isinstance(op_of_filters, Constant) else None
    rank, kernel = spatial_rank(c, data, filters, 0), kernel_of(filters, 2)
    if codes is None or kernel is None:
        raise c.refuse("its filter is not constant", "fold the filter into a constant")
    signs = c.constant(binary_signs(codes).astype(np.float32), element_of(data))
    two, one = (c.scalar(number, data) for number in (2.0, 1.0))
    values = c.subtract(c.multiply(data, two), one)
    attributes = onnx_attributes(op, rank, kernel)
    padding = _onnx_padding(op, data, kernel, rank)
    if "auto_pad" in padding and op.pad_value:
        raise c.refuse(
            "its padding depends on sizes that are not known", "give the input a static shape"
        )
    if "pads" in padding and op.pad_value:
        begin, end = onnx.halves(padding.pop("pads"))
        widths = c.i64([0, 0, *begin, 0, 0, *end])
        values = c.pad(values, widths, c.scalar(op.pad_value, values))
    return convolved(c, onnx.Conv(**attributes, **padding), values, signs)


def _openvino_attributes(
    op: onnx.Windowed, data: Value, kernel: tuple[int, ...] | None, rank: int
) -> dict[str, Any]:
    """The strides, dilations and padding of the OpenVINO convolution that replaces `op`."""
    begin, end = onnx.halves(op.pads)
    known = kernel or op.kernel_shape
    window = Window.of(known or (1,) * rank, op.strides, op.dilations, begin, end, op.auto_pad)
    attributes: dict[str, Any] = {"strides": window.strides, "dilations": window.dilations}
    depends_on_kernel = window.auto_pad.startswith("same")
    pads = explicit_pads(window, spatial_sizes(data)) if known or not depends_on_kernel else None
    if pads is None:
        zeros = (0,) * rank
        return attributes | {
            "pads_begin": zeros,
            "pads_end": zeros,
            "auto_pad": window.auto_pad,
        }
    return attributes | {"pads_begin": pads[0], "pads_end": pads[1]}


def grouped(c: Import, filters: Value, groups: int) -> Value:
    """Reshape filters [G*A, B, ...] to [G, A, B, ...]."""
    dims = shape_of(filters).static()
    if dims is None:
        raise c.refuse("the shape of a grouped filter is not known", "give it a static shape")
    shape = [groups, dims[0] // groups, *dims[1:]]
    return reshaped(c, filters, shape)


def with_bias(c: Import, result: Value, bias: Value | None, rank: int) -> Value:
    """Add a bias [C], if there is one."""
    if bias is None:
        return result
    channels = reshaped_bias(c, bias, rank)
    return c.add(result, channels)


def reshaped_bias(c: Import, bias: Value, rank: int) -> Value:
    """Reshape a bias [C] to [1, C, 1, ...]."""
    dims = shape_of(bias).static()
    shape = [1, dims[0] if dims else -1, *(1,) * rank]
    if dims is None:
        return c.reshape(bias, shape)
    return reshaped(c, bias, shape)


@imports(onnx.Conv)
def import_conv(
    c: Import, op: onnx.Conv, data: Value, filters: Value, bias: Value | None = None
) -> Value:
    """Write Conv as Convolution or GroupConvolution, and add the bias."""
    rank, kernel = spatial_rank(c, data, filters, 0), kernel_of(filters, 2)
    attributes = _openvino_attributes(op, data, kernel, rank)
    if op.group == 1:
        result = c(ov.Convolution(**attributes), data, filters)
    else:
        result = c(ov.GroupConvolution(**attributes), data, grouped(c, filters, op.group))
    return with_bias(c, result, bias, rank)
