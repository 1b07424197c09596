"""Arithmetic on quantised integers in IR, most of it in f32."""

from __future__ import annotations

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.framework.directions import Import
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import convert as ov_convert
from irloop.dialects.openvino import elementwise as ov_math
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import ReshapedTensor
from irloop.graph.types import ElementType

#: Maximum number of operations visited to find out whether values are whole numbers.
_MOST_PARTS = 16

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


def unsqueezed(c: Import, parameter: Value, axes: list[int]) -> Value:
    """Add axes to a scale or zero point; a constant is reshaped and stays a constant."""
    op = parameter.producer.op
    if not isinstance(op, Constant):
        return c.unsqueeze(parameter, axes)
    dims = list(op.tensor.shape)
    for axis in axes:
        dims.insert(axis, 1)
    return c.tensor(ReshapedTensor(op.tensor, tuple(dims)), parameter.producer.name)


def saturated(c: Import, value: Value, element: ElementType) -> Value:
    low, high = integer_range(element)
    limited = c(ov_activation.Clamp(float(low), float(high)), value)
    return c.convert_always(limited, element)


def number_of(c: Import, zero: Value | None) -> int | None:
    """Return the number in a constant zero point, or 0 if there is no zero point.

    The result is None if the zero point is not constant, or if several channels have different
    ones.
    """
    known = None if zero is None else c.constant_of(zero)
    if known is None or not known.size or (known != known.reshape(-1)[0]).any():
        return 0 if zero is None else None
    return int(known.reshape(-1)[0])


def integers_in_f32(c: Import, value: Value) -> Value:
    """Convert integers to f32, or take them from the f32 data that they were computed from.

    If `value` was rounded and limited in f32 before it became an integer, those f32 data already
    hold the numbers, except for an added zero point. Reading them saves a Convert to 8 bits and
    back, which takes OpenVINO as long as a matrix product.
    """
    codes = limited_codes(c, value)
    if codes is None:
        return c.convert(value, ElementType.F32)
    limited, shift = codes
    return c.add(limited, c.scalar(shift, limited)) if shift else limited


def limited_codes(c: Import, value: Value) -> tuple[Value, int] | None:
    """Find the f32 data from which the integers `value` are converted, without the zero point.

    The function matches `value = Convert(Clamp(rounded) + zero point)`, with or without the
    addition; the limits of the Clamp must correspond to the range of the integer type. Returns the
    result of the Clamp and the zero point (0 without addition), or None if `value` is not computed
    in this way.
    """
    wide, shift = made_of(value, ov_convert.Convert), 0
    if wide is None or not element_of(value).is_integer or element_of(wide) is not ElementType.F32:
        return None
    data = made_of(wide, ov_math.Add)
    if data is not None and isinstance(data.producer.op, ov_activation.Clamp):
        number = wide.producer.inputs[1]
        added = number_of(c, number)
        if number is None or added is None or not _is_whole(c, number):
            return None
        wide, shift = data, added
    limit, rounded = wide.producer.op, made_of(wide, ov_activation.Clamp)
    if rounded is None or not isinstance(limit, ov_activation.Clamp):
        return None
    if (limit.min + shift, limit.max + shift) != integer_range(element_of(value)):
        return None
    return (wide, shift) if _is_whole(c, rounded) else None


def made_of(value: Value, op: type[Op]) -> Value | None:
    """If the node that computes `value` is an `op`, return its first input, else None."""
    return value.producer.inputs[0] if isinstance(value.producer.op, op) else None


def _is_whole(c: Import, value: Value | None) -> bool:
    """Return whether all elements of `value` are known to be whole numbers."""
    pending = [value]
    for source in pending:
        if source is None or len(pending) > _MOST_PARTS:
            return False
        op, known = source.producer.op, c.constant_of(source)
        if isinstance(op, ov_math.Add | ov_activation.Clamp):
            pending += source.producer.inputs
        elif isinstance(op, ov_convert.Convert) and source.producer.inputs[0] is not None:
            if not element_of(source.producer.inputs[0]).is_integer:
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


def difference_of_codes(c: Import, x: Value, zero: Value | None) -> Value:
    """Emit x - zero point as f32, computed in i32 where f32 would give another result.

    f32 would be wrong in three cases:

    - x is i32, because f32 cannot represent all i32 numbers.
    - The sign of a zero matters, because rounding in f32 turns a small negative number into -0.
    - A tiny number instead of 0 matters. If the zero point and the scale are constants, OpenVINO
      computes x * scale - zero point * scale with a single rounding, so x = zero point may give a
      tiny number.
    """
    exact = _shows_zero(c.node.output)
    limited = limited_codes(c, x)
    if limited is not None and limited[1] == number_of(c, zero):
        # QuantizeLinear added the zero point that would be subtracted here: leave out both.
        if not exact:
            return limited[0]
        integers = c.convert_always(limited[0], ElementType.I32)
        return c.convert_always(integers, ElementType.F32)
    element = element_of(x)
    computed = element.is_integer and not isinstance(x.producer.op, Constant)
    if element is not ElementType.I32 and not (exact and computed and element.bits >= 8):
        return centred(c, x, zero)
    codes = x if limited is None else integers_in_f32(c, x)
    integers = c.convert(codes, ElementType.I32)
    if zero is not None:
        integers = c.subtract(integers, c.convert(zero, ElementType.I32))
    return c.convert_always(integers, ElementType.F32)


def centred(c: Import, value: Value, zero: Value | None) -> Value:
    """`value` minus its zero point, in f32, which represents 8-bit differences exactly."""
    wide = integers_in_f32(c, value)
    return wide if zero is None else c.subtract(wide, integers_in_f32(c, zero))


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
