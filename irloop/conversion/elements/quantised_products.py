"""Converts ONNX's matrix products and convolutions of quantised integers to IR."""

from __future__ import annotations

from irloop.conversion.elements.integer_operands import fake_quantized, operand_of_product
from irloop.conversion.elements.quantised_codes import centred, unsqueezed
from irloop.conversion.elements.quantize import quantized
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
    factors = _factors(c, (left, rows), (right, right_zero))
    return c.convert_always(c(ov_matmul.MatMul(), *factors), ElementType.I32)


def _factors(
    c: Import, data: tuple[Value, Value | None], weights: tuple[Value, Value | None]
) -> tuple[Value, Value]:
    """Subtract the zero points, the second of each pair, from the operands of a product.

    Data that were quantised by constants become a FakeQuantize whose steps are 1. OpenVINO then
    multiplies integers if the weights are multiplied by a scale, which is 1.
    """
    one = c.constant(1, ElementType.F32)
    left = fake_quantized(c, data[0], one, data[1])
    if left is None:
        return centred(c, *data), centred(c, *weights)
    return left, operand_of_product(c, weights[0], one, weights[1])


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
    rows = operand_of_product(c, left, _column(c, left_scale), _column(c, left_zero))
    total = c(ov_matmul.MatMul(), rows, operand_of_product(c, right, right_scale, right_zero))
    return quantized(c, total, scale, zero, element_of(zero))


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
    shift = None if x_zero is None else c.as_scalar(x_zero)
    total = import_conv(c, _plain(op), *_factors(c, (x, shift), (filters, offset)))
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
    step, steps = c.as_scalar(x_scale), _filters(c, filters_scale, filters)
    data = operand_of_product(c, x, step, c.as_scalar(x_zero))
    weights = operand_of_product(c, filters, steps, _filters(c, filters_zero, filters))
    wide = None
    if bias is not None:
        wide = c.multiply(c.convert(bias, ElementType.F32), c.multiply(step, filters_scale))
    total = import_conv(c, _plain(op), data, weights, wide)
    return quantized(c, total, c.as_scalar(scale), c.as_scalar(zero), element_of(zero))
