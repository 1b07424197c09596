"""Converts (De)QuantizeLinear and DynamicQuantizeLinear to IR."""

from __future__ import annotations

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.elements.convert import converted_float
from irloop.conversion.elements.integer_operands import feeds_integers, operand_of_product
from irloop.conversion.elements.quantised_codes import (
    difference_of_codes,
    integers_in_f32,
    number_of,
    round_even,
    saturated,
    unsqueezed,
)
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx import quantize as onnx
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.unpacked import UnpackedTensor
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ReshapedTensor
from irloop.graph.types import ElementType


def _spread(c: Import, parameter: Value, x: Value, axis: int, block: int) -> Value:
    """Make a scale or zero point broadcast to the data `x`.

    A vector gets trailing axes of size 1, so that it runs along `axis`. If `block` is not 0, each
    element is repeated `block` times along `axis` instead.
    """
    rank = shape_of(parameter).rank
    count = shape_of(parameter).count()
    if rank == 0 or (count == 1 and rank is not None):
        return c.as_scalar(parameter)
    data_rank = shape_of(x).rank
    if rank is None or data_rank is None:
        raise c.refuse("the rank of its data is not known", "declare the shapes of the inputs")
    if block:
        return _repeated(c, parameter, x, axis % data_rank, block)
    behind = data_rank - axis % data_rank - 1
    return unsqueezed(c, parameter, list(range(1, behind + 1))) if behind else parameter


def _repeated(c: Import, parameter: Value, x: Value, axis: int, block: int) -> Value:
    """Repeat each element of a blockwise quantisation parameter for its whole block of `x`.

    `parameter` holds scales or zero points, with one element for each `block` elements of `x` along
    `axis`. The result has the size of `x` along this axis: the last block of `x` may be shorter.
    """
    dims, size = shape_of(parameter).static(), shape_of(x).dim(axis)
    if dims is None or not isinstance(size, int):
        raise c.refuse("blocks need a shape that is known", "declare the shapes of the inputs")
    wide = c.unsqueeze(parameter, [axis + 1])
    target = [*dims[: axis + 1], block, *dims[axis + 1 :]]
    repeated = c.broadcast(wide, c.i64(target))
    merged = [*dims[:axis], dims[axis] * block, *dims[axis + 1 :]]
    result = c.reshape(repeated, merged)
    if merged[axis] == size:
        return result
    return c.slice(result, [0], [size], [axis])


def quantized(
    c: Import,
    x: Value,
    scale: Value,
    zero: Value | None,
    element: ElementType,
    *,
    saturate: bool = True,
) -> Value:
    """Return round(x / scale) + zero point in the type `element`, computed in f32.

    Integer results are limited to the range of `element`. For a floating-point `element`, nothing
    is rounded to an integer, and `saturate` tells whether values that are too large are limited.
    """
    wide = c.convert(x, ElementType.F32)
    ratio = c.divide(wide, c.convert(scale, ElementType.F32))
    rounded = round_even(c, ratio) if element.is_integer else ratio
    shift = number_of(c, zero)
    if not element.is_integer or shift is None:
        if zero is not None:
            rounded = c.add(rounded, integers_in_f32(c, zero))
        if element.is_integer:
            return saturated(c, rounded, element)
        return converted_float(c, rounded, element, saturate=saturate)
    # Limit before the zero point is added, so that DequantizeLinear need not subtract it again.
    low, high = integer_range(element)
    limited = c(ov_activation.Clamp(float(low - shift), float(high - shift)), rounded)
    if shift:
        limited = c.add(limited, c.scalar(shift, limited))
    return c.convert_always(limited, element)


@imports(onnx.QuantizeLinear10)
def import_quantize10(
    c: Import, op: onnx.QuantizeLinear10, x: Value, scale: Value, zero: Value | None = None
) -> Value:
    element = ElementType.U8 if zero is None else element_of(zero)
    return quantized(c, x, scale, zero, element)


@imports(onnx.QuantizeLinear13)
def import_quantize13(
    c: Import, op: onnx.QuantizeLinear13, x: Value, scale: Value, zero: Value | None = None
) -> Value:
    element = op.default_element if zero is None else element_of(zero)
    if op.precision not in (ElementType.DYNAMIC, ElementType.F32):
        raise c.refuse(
            f"it divides in {op.precision}, and irloop converts only a division in f32",
            "set precision to float",
        )
    factor = _spread(c, scale, x, op.axis, op.block_size)
    offset = None if zero is None else _spread(c, zero, x, op.axis, op.block_size)
    return quantized(c, x, factor, offset, element, saturate=op.saturate)


@imports(onnx.DequantizeLinear10)
def import_dequantize10(
    c: Import, op: onnx.DequantizeLinear10, x: Value, scale: Value, zero: Value | None = None
) -> Value:
    return _dequantized(c, x, scale, zero)


@imports(onnx.DequantizeLinear13)
def import_dequantize13(
    c: Import, op: onnx.DequantizeLinear13, x: Value, scale: Value, zero: Value | None = None
) -> Value:
    grouped = _in_blocks(c, x, scale, zero, op) if op.block_size else None
    if grouped is None:
        if op.block_size:
            x, zero = _unpacked(c, x), None if zero is None else _unpacked(c, zero)
        factor = _spread(c, scale, x, op.axis, op.block_size)
        offset = None if zero is None else _spread(c, zero, x, op.axis, op.block_size)
        result = _dequantized(c, x, factor, offset)
    else:
        dims = shape_of(x).static()
        result = c.reshape(_dequantized(c, *grouped), list(dims or ()))
    if op.output_dtype is ElementType.DYNAMIC:
        return result
    return c.convert(result, op.output_dtype)


def _unpacked(c: Import, value: Value) -> Value:
    """Store 4-bit constants in 8 bits: OpenVINO's CPU rejects 4 bits with a scale per element."""
    op = value.producer.op
    if not isinstance(op, Constant) or op.tensor.element.bits >= 8:
        return value
    return c.tensor(UnpackedTensor(op.tensor), value.producer.name)


def _in_blocks(
    c: Import, x: Value, scale: Value, zero: Value | None, op: onnx.DequantizeLinear13
) -> tuple[Value, Value, Value | None] | None:
    """Reshape blocked weights so that each block gets an axis of its own.

    With blocks of 32, data of shape [128, 10], blocked along axis 0, becomes [4, 32, 10]. Scale and
    zero point [4, 10] become [4, 1, 10], so that they broadcast. OpenVINO recognises grouped
    weights in this form. The alternative, one scale for each element, makes its CPU plugin (2026.4)
    compute wrong values or crash if the weights have 4 bits.

    Returns data, scale and zero point; None if the shape of the data is not known, or if the axis
    cannot be divided into whole blocks.
    """
    dims, rank = shape_of(x).static(), shape_of(x).rank
    if dims is None or rank is None:
        return None
    axis = op.axis % rank
    if dims[axis] % op.block_size:
        return None
    blocks = (*dims[:axis], dims[axis] // op.block_size, op.block_size, *dims[axis + 1 :])
    producer = x.producer
    if isinstance(producer.op, Constant):
        data = c.tensor(ReshapedTensor(producer.op.tensor, blocks), producer.name)
    else:
        data = c.reshape(x, list(blocks))
    offset = None if zero is None else unsqueezed(c, zero, [axis + 1])
    return data, unsqueezed(c, scale, [axis + 1]), offset


def _dequantized(c: Import, x: Value, scale: Value, zero: Value | None) -> Value:
    """(x - zero point) * scale, where the product is computed in f32."""
    if feeds_integers(c.node):
        return operand_of_product(c, x, scale, zero)
    factor = c.convert(scale, ElementType.F32)
    product = c.multiply(difference_of_codes(c, x, zero), factor)
    return c.convert(product, element_of(scale))


@imports(onnx.DynamicQuantizeLinear)
def import_dynamic_quantize(c: Import, op: onnx.DynamicQuantizeLinear, x: Value) -> list[Value]:
    """Write DynamicQuantizeLinear as the formula of its specification.

    The smallest range that contains 0 and all elements of x is mapped to 0..255. If this range
    contains only 0, the scale is 1.
    """
    rank = c.rank_of(x)
    nothing = c.scalar(0, x)
    low, high = (
        combine(c.reduce(kind, x, range(rank), keep=False), nothing)
        for combine, kind in ((c.minimum, "Min"), (c.maximum, "Max"))
    )
    step = c.divide(c.subtract(high, low), c.scalar(255, x))
    flat = c.equal(step, nothing)
    scale = c.select(flat, c.scalar(1, x), step)
    offset = round_even(c, c.divide(c.subtract(nothing, low), scale))
    zero = saturated(c, offset, ElementType.U8)
    codes = c.add(round_even(c, c.divide(x, scale)), integers_in_f32(c, zero))
    return [saturated(c, codes, ElementType.U8), scale, zero]
