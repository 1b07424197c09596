"""Converts (De)QuantizeLinear and DynamicQuantizeLinear to IR."""

from __future__ import annotations

import numpy as np

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.elements.convert import converted_float
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.onnx import quantize as onnx
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import convert as ov_convert
from irloop.dialects.openvino import elementwise as ov_math
from irloop.dialects.openvino import quantize as ov
from irloop.dialects.unpacked import UnpackedTensor
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import ReshapedTensor
from irloop.graph.types import ElementType

#: Maximum number of operations visited to find out whether values are whole numbers.
_MOST_PARTS = 16

#: Maximum number of values that are followed to find a product with quantised weights.
_MOST_READERS = 64

_PRODUCTS = classes_of("Conv", "ConvTranspose", "Gemm", "MatMul")
_DEQUANTIZING = classes_of("DequantizeLinear")

#: ONNX operations whose results differ much between 0, -0 and tiny numbers, as those of Div do.
_ZERO_SHOWING = classes_of(
    *("Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    *("Log", "NonZero", "Pow", "Reciprocal", "Sign", "Sqrt"),
)
_CASTING = classes_of("Cast")
#: ONNX operations that move elements or keep zeros.
_ZERO_KEEPING = classes_of(
    *("Abs", "Concat", "Expand", "Flatten", "Gather", "Identity", "Mul", "Neg", "Relu"),
    *("Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"),
)


def _spread(c: Import, parameter: Value, x: Value, axis: int, block: int) -> Value:
    """Make a scale or zero point broadcast to the data `x`.

    A vector gets trailing axes of size 1, so that it runs along `axis`. If `block` is not 0, each
    element is repeated `block` times along `axis` instead.
    """
    rank = shape_of(parameter).rank
    count = shape_of(parameter).count()
    if rank == 0 or (count == 1 and rank is not None):
        return c.as_scalar(parameter)
    whole = shape_of(x).rank
    if rank is None or whole is None:
        raise c.refuse("the rank of its data is not known", "declare the shapes of the inputs")
    if block:
        return _repeated(c, parameter, x, axis % whole, block)
    behind = whole - axis % whole - 1
    return unsqueezed(c, parameter, list(range(1, behind + 1))) if behind else parameter


def unsqueezed(c: Import, parameter: Value, axes: list[int]) -> Value:
    """Add axes to a scale or zero point; a constant is reshaped and stays a constant."""
    op = parameter.producer.op
    if not isinstance(op, Constant):
        return c.unsqueeze(parameter, axes)
    dims = list(op.tensor.shape)
    for axis in axes:
        dims.insert(axis, 1)
    return c.tensor(ReshapedTensor(op.tensor, tuple(dims)), parameter.producer.name)


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


def saturated(c: Import, value: Value, element: ElementType) -> Value:
    low, high = integer_range(element)
    limited = c(ov_activation.Clamp(float(low), float(high)), value)
    return c.convert_always(limited, element)


def _quantized(
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
    shift = _shift(c, zero)
    if not element.is_integer or shift is None:
        if zero is not None:
            rounded = c.add(rounded, _integers_in_f32(c, zero))
        if element.is_integer:
            return saturated(c, rounded, element)
        return converted_float(c, rounded, element, saturate=saturate)
    # Limit before the zero point is added, so that DequantizeLinear need not subtract it again.
    low, high = integer_range(element)
    limited = c(ov_activation.Clamp(float(low - shift), float(high - shift)), rounded)
    if shift:
        limited = c.add(limited, c.scalar(shift, limited))
    return c.convert_always(limited, element)


def _shift(c: Import, zero: Value | None) -> int | None:
    """Return the number in a constant zero point, or 0 if there is no zero point.

    The result is None if the zero point is not constant or does not have exactly one element.
    """
    known = None if zero is None else c.constant_of(zero)
    if known is None or known.size != 1:
        return 0 if zero is None else None
    return int(known.reshape(()))


def _integers_in_f32(c: Import, value: Value) -> Value:
    """Convert integers to f32, or take them from the f32 data that they were computed from.

    If `value` was rounded and limited in f32 before it became an integer, those f32 data already
    hold the numbers, except for an added zero point. Reading them saves a Convert to 8 bits and
    back, which takes OpenVINO as long as a matrix product.
    """
    found = _limited(c, value)
    if found is None:
        return c.convert(value, ElementType.F32)
    limited, shift = found
    return c.add(limited, c.scalar(shift, limited)) if shift else limited


def _limited(c: Import, value: Value) -> tuple[Value, int] | None:
    """Find the f32 data from which the integers `value` are converted, without the zero point.

    The function matches `value = Convert(Clamp(rounded) + zero point)`, with or without the
    addition; the limits of the Clamp must correspond to the range of the integer type. Returns the
    result of the Clamp and the zero point (0 without addition), or None if `value` is not computed
    in this way.
    """
    wide, shift = _made_of(value, ov_convert.Convert), 0
    if wide is None or not element_of(value).is_integer or element_of(wide) is not ElementType.F32:
        return None
    data = _made_of(wide, ov_math.Add)
    if data is not None and isinstance(data.producer.op, ov_activation.Clamp):
        number = wide.producer.inputs[1]
        added = _shift(c, number)
        if number is None or added is None or not _is_whole(c, number):
            return None
        wide, shift = data, added
    limit, rounded = wide.producer.op, _made_of(wide, ov_activation.Clamp)
    if rounded is None or not isinstance(limit, ov_activation.Clamp):
        return None
    if (limit.min + shift, limit.max + shift) != integer_range(element_of(value)):
        return None
    return (wide, shift) if _is_whole(c, rounded) else None


def _made_of(value: Value, op: type[Op]) -> Value | None:
    """If the node that computes `value` is an `op`, return its first input, else None."""
    return value.producer.inputs[0] if isinstance(value.producer.op, op) else None


def _is_whole(c: Import, value: Value | None) -> bool:
    """Return whether all elements of `value` are known to be whole numbers."""
    pending = [value]
    for item in pending:
        if item is None or len(pending) > _MOST_PARTS:
            return False
        op, known = item.producer.op, c.constant_of(item)
        if isinstance(op, ov_math.Add | ov_activation.Clamp):
            pending += item.producer.inputs
        elif isinstance(op, ov_convert.Convert) and item.producer.inputs[0] is not None:
            if not element_of(item.producer.inputs[0]).is_integer:
                return False
        elif not isinstance(op, ov_math.Round) and (known is None or (known % 1).any()):
            return False
    return True


def round_even(c: Import, value: Value) -> Value:
    """The nearest integer, ties to even.

    Raises:
        RefusedError: before opset5, which has no Round.
    """
    if c.opset < 5:
        raise c.refuse("OpenVINO has Round since opset5", "write opset5 or newer")
    return c(ov_math.Round(mode="half_to_even"), value)


@imports(onnx.QuantizeLinear10)
def import_quantize10(
    c: Import, op: onnx.QuantizeLinear10, x: Value, scale: Value, zero: Value | None = None
) -> Value:
    element = ElementType.U8 if zero is None else element_of(zero)
    return _quantized(c, x, scale, zero, element)


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
    return _quantized(c, x, factor, offset, element, saturate=op.saturate)


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
    fake = _fake_quantized(c, x, scale, zero) if _feeds_integers(c.node) else None
    if fake is not None:
        return c.convert(fake, element_of(scale))
    factor = c.convert(scale, ElementType.F32)
    product = c.multiply(_difference_of_codes(c, x, zero), factor)
    return c.convert(product, element_of(scale))


def _fake_quantized(c: Import, x: Value, scale: Value, zero: Value | None) -> Value | None:
    """Emit a FakeQuantize in place of a QuantizeLinear and this DequantizeLinear.

    OpenVINO computes products of it with integers. Its numbers are the same, but a number in the
    middle between two codes, to a few units in the last place, may get the other one. Returns None
    if `x` was not quantised, or if scales or zero points are not constant.
    """
    found = _limited(c, x)
    if found is None:
        return None
    limited, shift = found
    limit, rounded = limited.producer.op, limited.producer.inputs[0]
    ratio = None if rounded is None else _made_of(rounded, ov_math.Round)
    if ratio is None or not isinstance(ratio.producer.op, ov_math.Divide):
        return None
    data, step = ratio.producer.inputs
    factor = None if step is None else c.constant_of(step)
    numbers, offset = c.constant_of(scale), 0 if zero is None else c.constant_of(zero)
    if data is None or factor is None or numbers is None or offset is None:
        return None
    assert isinstance(limit, ov_activation.Clamp)
    ends = np.array([limit.min, limit.max])
    ranges = [end * factor for end in ends]
    ranges += [(end + shift - np.asarray(offset, np.float64)) * numbers for end in ends]
    limits = (c.constant(np.asarray(end, np.float32), ElementType.F32) for end in ranges)
    return c(ov.FakeQuantize(levels=int(limit.max - limit.min) + 1), data, *limits)


def _feeds_integers(node: Node) -> bool:
    """Return whether a product with quantised weights depends on an ONNX node, after few others."""
    pending, seen = [*node.outputs], set[Value]()
    while pending and len(seen) < _MOST_READERS:
        value = pending.pop(0)
        for user, position in value.uses:
            if isinstance(user.op, _PRODUCTS) and position == 0:
                weights = user.inputs[1]
                if weights is not None and isinstance(weights.producer.op, _DEQUANTIZING):
                    return True
            pending += [item for item in user.outputs if item not in seen]
            seen.update(user.outputs)
    return False


def _difference_of_codes(c: Import, x: Value, zero: Value | None) -> Value:
    """Emit x - zero point as f32, computed in i32 where f32 would give another result.

    f32 would be wrong in three cases:

    - x is i32, because f32 cannot represent all i32 numbers.
    - The sign of a zero matters, because rounding in f32 turns a small negative number into -0.
    - A tiny number instead of 0 matters. If the zero point and the scale are constants, OpenVINO
      computes x * scale - zero point * scale with a single rounding, so x = zero point may give a
      tiny number.
    """
    exact = _shows_zero(c.node.output)
    limited = _limited(c, x)
    if limited is not None and limited[1] == _shift(c, zero):
        # QuantizeLinear added the zero point that would be subtracted here: leave out both.
        if not exact:
            return limited[0]
        whole = c.convert_always(limited[0], ElementType.I32)
        return c.convert_always(whole, ElementType.F32)
    element = element_of(x)
    computed = element.is_integer and not isinstance(x.producer.op, Constant)
    if element is not ElementType.I32 and not (exact and computed and element.bits >= 8):
        return centred(c, x, zero)
    codes = x if limited is None else _integers_in_f32(c, x)
    whole = c.convert(codes, ElementType.I32)
    if zero is not None:
        whole = c.subtract(whole, c.convert(zero, ElementType.I32))
    return c.convert_always(whole, ElementType.F32)


def centred(c: Import, value: Value, zero: Value | None) -> Value:
    """`value` minus its zero point, in f32, which represents 8-bit differences exactly."""
    wide = _integers_in_f32(c, value)
    return wide if zero is None else c.subtract(wide, _integers_in_f32(c, zero))


def _shows_zero(value: Value) -> bool:
    """Return whether 0, -0 and tiny numbers in `value` lead to very different results.

    This is so if `value` is a divisor or is cast to boolean, for example. Operations that keep
    zeros may come between.
    """
    pending = [value]
    for item in pending:
        for user, at in item.uses:
            divides = isinstance(user.op, onnx_math.Div) and at == 1
            casts = isinstance(user.op, _CASTING)
            tests = casts and element_of(user.output) is ElementType.BOOLEAN
            if divides or tests or isinstance(user.op, _ZERO_SHOWING):
                return True
            if isinstance(user.op, _ZERO_KEEPING) and len(pending) <= _MOST_PARTS:
                pending += user.outputs
    return False


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
    codes = c.add(round_even(c, c.divide(x, scale)), _integers_in_f32(c, zero))
    return [saturated(c, codes, ElementType.U8), scale, zero]
