"""Converts element type conversions and Identity."""

from __future__ import annotations

import math

import numpy as np

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import (
    Converted,
    exports,
    imports,
    takes_virtual,
)
from irloop.dialects.onnx import convert as onnx
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import convert as ov
from irloop.dialects.openvino import elementwise as ov_math
from irloop.dialects.openvino.comparison import Select
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

#: The largest value of each 4-bit and 8-bit float type of OpenVINO.
_LARGEST = {
    ElementType.F8E4M3: 448.0,
    ElementType.F8E5M2: 57344.0,
    ElementType.F4E2M1: 6.0,
}


@exports(ov.Convert)
def export_convert(c: Export, op: ov.Convert, x: Value) -> Value:
    return _cast(c, x, op.destination_type)


def _cast(c: Export, x: Value, element: ElementType) -> Value:
    """Cast `x` to `element`; conversions to 8-bit floats do not saturate, as in OpenVINO."""
    c.require_element(element)
    value = c.representable(x)
    if element not in _PRECISION or _is_exact(value):
        return c(onnx.Cast6(element, saturate=not is_small(element)), value)
    return _unsaturated(c, _through_half(c, value), element)


def _is_exact(x: Value) -> bool:
    """Return whether f16 can represent every value of the element type of `x`."""
    element = element_of(x)
    return element.bits <= 8 or element is ElementType.BOOLEAN


def _through_half(c: Export, x: Value) -> Value:
    """Round `x` to f16 and return it in f32: OpenVINO converts to 8-bit floats by way of f16."""
    wide = c.convert(x, ElementType.F32)
    if element_of(x) is ElementType.F16:
        return wide
    return c.convert(c.convert(wide, ElementType.F16), ElementType.F32)


def _unsaturated(c: Export, x: Value, element: ElementType) -> Value:
    """Convert f32 to an 8-bit float without limiting values to the largest number.

    Values that are too large become NaN (f8e4m3) or infinity (f8e5m2). This is computed explicitly,
    because ONNX Runtime 1.31 rounds 480 to 448 and 61440 to NaN.
    """
    most = c.scalar(_ROUNDED_TO_LARGEST[element], x)
    if element is ElementType.F8E4M3:
        beyond = c.greater(c(onnx_math.Abs(), x), most)
        limited = c.select(beyond, c.scalar(math.nan, x), x)
    else:
        above, below = c.less(most, x), c.less(x, c(onnx_math.Neg(), most))
        limited = c.select(above, c.scalar(math.inf, x), x)
        limited = c.select(below, c.scalar(-math.inf, x), limited)
    return c(onnx.Cast6(element, saturate=False), limited)


def is_small(element: ElementType) -> bool:
    """Return whether this is a 4-bit or 8-bit float."""
    return element.is_float and element.bits <= 8


#: Types whose values OpenVINO rounds only once when it converts them to 8-bit floats.
_HALVES = frozenset({ElementType.F16, ElementType.BF16})

#: For each 8-bit float type: the number of bits of its fraction, and its smallest normal exponent.
_PRECISION = {ElementType.F8E4M3: (3, -6), ElementType.F8E5M2: (2, -14)}

#: The largest f16 value that rounds to the largest 8-bit float.
_ROUNDED_TO_LARGEST = {ElementType.F8E4M3: 464.0, ElementType.F8E5M2: 61408.0}


@exports(ov.ConvertPromoteTypes)
def export_promote(c: Export, op: ov.ConvertPromoteTypes, left: Value, right: Value) -> list[Value]:
    """Write ConvertPromoteTypes as a Cast of each operand to their common type.

    The common type is the element type that inference gives the outputs.
    """
    element = element_of(c.node.outputs[0])
    if element is ElementType.DYNAMIC:
        raise c.refuse("the element types of its operands are not known")
    return [c.convert(left, element), c.convert(right, element)]


@exports(ov.FakeConvert)
def export_fake_convert(
    c: Export, op: ov.FakeConvert, x: Value, scale: Value, shift: Value | None = None
) -> Value:
    def build(value: Value, factor: Value, *offsets: Value) -> Value:
        moved = c.multiply(value, factor)
        for offset in offsets:
            moved = c.subtract(moved, offset)
        rounded = _rounded(c, _through_half(c, moved), op.destination_type)
        for offset in offsets:
            rounded = c.add(rounded, offset)
        return c.divide(rounded, factor)

    operands = (x, scale) if shift is None else (x, scale, shift)
    return c.computed_in(ElementType.F32, build, *operands)


def _rounded(c: Export, x: Value, element: ElementType) -> Value:
    """Round `x` to an 8-bit float, ties to even, saturated, and return it in f32.

    Opsets before 19 have no 8-bit floats: for them, the value is rounded to a multiple of the
    distance between neighbouring 8-bit floats.
    """
    if element not in _PRECISION:
        raise c.refuse(f"ONNX cannot round to {element} as OpenVINO does")
    if c.opset >= 19:
        small = c(onnx.Cast6(element, saturate=True), x)
        return c(onnx.Cast6(ElementType.F32), small)
    bits, lowest = _PRECISION[element]
    limited = c.clip(x, -_LARGEST[element], _LARGEST[element])
    size = c(onnx_math.Abs(), limited)
    two = c.scalar(2, x)
    exponent = c.divide(c(onnx_math.Log(), size), c.scalar(math.log(2), x))
    unit = c(onnx_math.Pow(), two, c(onnx_math.Floor(), exponent))
    # The logarithm may be off by one step at powers of two.
    unit = c.select(c.less(size, unit), c.divide(unit, two), unit)
    double = c.multiply(unit, two)
    unit = c.select(c.less(size, double), unit, double)
    unit = c.maximum(unit, c.scalar(2.0**lowest, x))
    step = c.multiply(unit, c.scalar(2.0**-bits, x))
    return c.multiply(c(onnx_math.Round(), c.divide(limited, step)), step)


@imports(onnx.Cast6)
def import_cast(c: Import, op: onnx.Cast6, x: Value) -> Value:
    return _converted(c, x, op.to, op.saturate)


@imports(onnx.Cast1)
def import_cast1(c: Import, op: onnx.Cast1, x: Value) -> Value:
    return _converted(c, x, op.element, True)


def _converted(c: Import, x: Value, element: ElementType, saturate: bool) -> Value:
    source = element_of(x)
    if ElementType.STRING in (source, element) and source is not element:
        raise c.refuse("OpenVINO cannot convert strings")
    if element is ElementType.STRING:
        return x
    if element is ElementType.F8E8M0 and source is not element:
        raise c.refuse("OpenVINO rounds to f8e8m0 in its own way", "convert to f8e4m3 or f16")
    if not is_small(element):
        return c.convert_always(x, element)
    return converted_float(c, x, element, saturate=saturate)


def converted_float(c: Import, x: Value, element: ElementType, *, saturate: bool) -> Value:
    """Convert `x` to a 4-bit or 8-bit float; `saturate` limits values that are too large."""
    source = element_of(x)
    if not saturate:
        return _rounded_once(c, x, element)
    largest = _LARGEST.get(element)
    if largest is None:
        raise c.refuse(f"OpenVINO IR has no element type {element}")
    if source.is_integer or source is ElementType.BOOLEAN:
        x = c.convert_always(x, ElementType.F32)
    if not source.is_float:
        limited = c(ov_activation.Clamp(-largest, largest), x)
        exact = source.bits <= 8 or source is ElementType.BOOLEAN
        if exact:
            return c.convert_always(limited, element)
        return _rounded_once(c, limited, element)
    high, low = (c.scalar(bound, x) for bound in (largest, -largest))
    # Clamp cannot be used, because the CPU plugin returns its lower bound for NaN.
    limited = c.select(c.less(high, x), high, x)
    limited = c.select(c.less(x, low), low, limited)
    if element is ElementType.F4E2M1:
        # The type has no NaN, so 0 replaces it.
        is_number = c.equal(x, x)
        limited = c.select(is_number, limited, c.scalar(0, x))
    return _rounded_once(c, limited, element)


def _rounded_once(c: Import, x: Value, element: ElementType) -> Value:
    """Convert `x` to a 4-bit or 8-bit float, rounded only once.

    OpenVINO rounds to f16 first, and may therefore return a value `near` that is not the nearest to
    `x`. Converting 2 * x - near gives a candidate on the other side of `x`. Of these two values,
    the one nearer to `x` is the result.
    """
    if element not in _PRECISION or _is_exact(x) or _holds_halves(c, x):
        return c.convert_always(x, element)
    near = _through_small(c, x, element)
    mirrored = c.subtract(c.add(x, x), near)
    other = _through_small(c, mirrored, element)
    to_near, to_other = (c(ov_math.Abs(), c.subtract(x, value)) for value in (near, other))
    nearer = c.select(c.less(to_other, to_near), other, near)
    return c.convert_always(nearer, element)


def _holds_halves(c: Import, x: Value) -> bool:
    """Return whether the elements of `x` are known to be no more precise than f16.

    This is known of f16 and bf16 values, of values converted from them, and of constants that f16
    represents exactly. The plugin may hold an f16 value as f32 and round it to f16 only during the
    conversion, but this is the rounding that the type of the value requires.
    """
    node = x.producer
    if isinstance(node.op, Select):
        return all(_holds_halves(c, value) for value in node.inputs[1:] if value is not None)
    if isinstance(node.op, ov.Convert):
        return any(value is not None and element_of(value) in _HALVES for value in node.inputs)
    known = c.constant_of(x)
    if known is None:
        return element_of(x) in _HALVES
    return np.array_equal(known.astype(np.float16).astype(known.dtype), known, equal_nan=True)


def _through_small(c: Import, x: Value, element: ElementType) -> Value:
    """Round `x` to an 8-bit float type and convert it back to its own type.

    OpenVINO's Convert does the rounding.
    """
    return c.convert_always(c.convert_always(x, element), element_of(x))


@exports(ov.ConvertLike)
def export_convert_like(c: Export, op: ov.ConvertLike, x: Value, like: Value) -> Value:
    """Write ConvertLike as Cast, or as CastLike if the type of the second operand is not known."""
    element = element_of(like)
    if element is not ElementType.DYNAMIC:
        return _cast(c, x, element)
    if c.opset < 15:
        raise c.refuse("the element type is not known", opset=15)
    return c(onnx.CastLike(), x, like)


@imports(onnx.CastLike)
def import_cast_like(c: Import, op: onnx.CastLike, x: Value, like: Value) -> Value:
    element = element_of(like)
    if element is ElementType.DYNAMIC:
        return c(ov.ConvertLike(), x, like)
    return _converted(c, x, element, op.saturate)


@exports(ov.Identity)
def export_identity(c: Export, op: ov.Identity, x: Value) -> Value:
    return c.identity(x)


@takes_virtual
@imports(onnx.Identity)
def import_identity(c: Import, op: onnx.Identity, x: Converted) -> Converted:
    """Write no operation for Identity: the readers of its result read the operand."""
    return x
