"""Converts ONNX's matrix products and convolutions of quantised integers to IR."""

from __future__ import annotations

from irloop.conversion.elements.quantize import centred, round_even, saturated, unsqueezed
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.conversion.neural.convolution import import_conv
from irloop.dialects.onnx import convolution as onnx_convolution
from irloop.dialects.onnx import quantize as onnx
from irloop.dialects.openvino import matmul as ov_matmul
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType


def _column(c: Import, parameter: Value) -> Value:
    """Add a second axis to a vector that has one element for each row of a matrix.

    The result [rows, 1] broadcasts with the matrix. A `parameter` of another rank, or with a single
    element, is returned unchanged.
    """
    if shape_of(parameter).rank == 1 and shape_of(parameter).count() != 1:
        return unsqueezed(c, parameter, [1])
    return parameter


def _filters(c: Import, parameter: Value, filters: Value) -> Value:
    """Reshape a vector with one element per filter so that it broadcasts with the filters."""
    rank = shape_of(filters).rank
    if shape_of(parameter).rank == 0 or shape_of(parameter).count() == 1:
        return c.as_scalar(parameter)
    if rank is None:
        raise c.refuse("the rank of its filters is not known", "declare the shapes of the inputs")
    return unsqueezed(c, parameter, list(range(1, rank)))


@imports(onnx.MatMulInteger)
def import_matmul_integer(
    c: Import,
    op: onnx.MatMulInteger,
    left: Value,
    right: Value,
    left_zero: Value | None = None,
    right_zero: Value | None = None,
) -> Value:
    """Write MatMulInteger as a MatMul in f32, converted to i32.

    The result is exact while the sums stay below 2^24.
    """
    rows = None if left_zero is None else _column(c, left_zero)
    factors = (centred(c, left, rows), centred(c, right, right_zero))
    return c.convert_always(c(ov_matmul.MatMul(), *factors), ElementType.I32)


@imports(onnx.QLinearMatMul)
def import_qlinear_matmul(
    c: Import,
    op: onnx.QLinearMatMul,
    left: Value,
    left_scale: Value,
    left_zero: Value,
    right: Value,
    right_scale: Value,
    right_zero: Value,
    scale: Value,
    zero: Value,
) -> Value:
    total = c(
        ov_matmul.MatMul(),
        centred(c, left, _column(c, left_zero)),
        centred(c, right, right_zero),
    )
    factor = _factor(c, _column(c, left_scale), right_scale, scale)
    return _requantized(c, c.multiply(total, factor), zero)


def _factor(c: Import, left: Value, right: Value, scale: Value) -> Value:
    wide = [c.convert(value, ElementType.F32) for value in (left, right, scale)]
    return c.divide(c.multiply(wide[0], wide[1]), wide[2])


def _requantized(c: Import, value: Value, zero: Value) -> Value:
    shifted = c.add(round_even(c, value), c.convert(zero, ElementType.F32))
    return saturated(c, shifted, element_of(zero))


@imports(onnx.ConvInteger)
def import_conv_integer(
    c: Import,
    op: onnx.ConvInteger,
    x: Value,
    filters: Value,
    x_zero: Value | None = None,
    filters_zero: Value | None = None,
) -> Value:
    """Write ConvInteger as a Convolution; the zero points are first subtracted from its operands.

    The Convolution then pads with 0, where ConvInteger pads with the zero point of the data.
    """
    offset = None if filters_zero is None else _filters(c, filters_zero, filters)
    data = centred(c, x, None if x_zero is None else c.as_scalar(x_zero))
    total = import_conv(c, _plain(op), data, centred(c, filters, offset))
    return c.convert_always(total, ElementType.I32)


def _plain(op: onnx.ConvInteger | onnx.QLinearConv) -> onnx_convolution.Conv:
    """A Conv of floats with the attributes of `op`."""
    return onnx_convolution.Conv(
        op.auto_pad, op.dilations, op.group, op.kernel_shape, op.pads, op.strides
    )


@imports(onnx.QLinearConv)
def import_qlinear_conv(
    c: Import,
    op: onnx.QLinearConv,
    x: Value,
    x_scale: Value,
    x_zero: Value,
    filters: Value,
    filters_scale: Value,
    filters_zero: Value,
    scale: Value,
    zero: Value,
    bias: Value | None = None,
) -> Value:
    data = centred(c, x, c.as_scalar(x_zero))
    weights = centred(c, filters, _filters(c, filters_zero, filters))
    wide = None if bias is None else c.convert(bias, ElementType.F32)
    total = import_conv(c, _plain(op), data, weights, wide)
    rank = shape_of(filters).rank
    if rank is not None and shape_of(filters_scale).count() != 1:
        per_channel = c.unsqueeze(filters_scale, list(range(1, rank - 1)))
    else:
        per_channel = c.as_scalar(filters_scale)
    factor = _factor(c, c.as_scalar(x_scale), per_channel, c.as_scalar(scale))
    return _requantized(c, c.multiply(total, factor), c.as_scalar(zero))
