"""Conversions of element types and the identity in the other dialect."""

from __future__ import annotations

from irloop.conversion import onnx_forms as forms
from irloop.conversion import openvino_forms as ov_forms
from irloop.conversion.framework import Conversion, Converted, exports, imports, takes_virtual
from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import convert as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

#: The largest number of the 4 and 8-bit floats that OpenVINO has.
_LARGEST = {
    ElementType.F8E4M3: 448.0,
    ElementType.F8E5M2: 57344.0,
    ElementType.F4E2M1: 6.0,
}


@exports(ov.Convert)
def export_convert(c: Conversion, op: ov.Convert, x: Value) -> Value:
    """To 8-bit floats OpenVINO converts without saturation."""
    forms.require_element(c, op.destination_type)
    return c(onnx.Cast6(op.destination_type, saturate=not is_small(op.destination_type)), x)


def is_small(element: ElementType) -> bool:
    """True for 4 and 8-bit floats."""
    return element.is_float and element.bits <= 8


@exports(ov.ConvertPromoteTypes)
def export_promote(
    c: Conversion, op: ov.ConvertPromoteTypes, left: Value, right: Value
) -> list[Value]:
    """Both in the type that they have in common, which inference has found."""
    element = element_of(c.node.outputs[0])
    if element is ElementType.DYNAMIC:
        raise c.refuse("the element types of its operands are not known")
    return [forms.cast(c, left, element), forms.cast(c, right, element)]


@exports(ov.FakeConvert)
def export_fake_convert(
    c: Conversion, op: ov.FakeConvert, x: Value, scale: Value, shift: Value | None = None
) -> Value:
    forms.require_element(c, op.destination_type)
    element = element_of(x)
    factor = forms.cast(c, scale, ElementType.F32)
    wide = forms.mul(c, forms.cast(c, x, ElementType.F32), factor)
    offset = None if shift is None else forms.cast(c, shift, ElementType.F32)
    moved = wide if offset is None else forms.sub(c, wide, offset)
    small = c(onnx.Cast6(op.destination_type, saturate=True), moved)
    rounded = c(onnx.Cast6(ElementType.F32), small)
    back = rounded if offset is None else forms.add(c, rounded, offset)
    return forms.cast(c, forms.div(c, back, factor), element)


@imports(onnx.Cast6)
def import_cast(c: Conversion, op: onnx.Cast6, x: Value) -> Value:
    return _converted(c, x, op.to, op.saturate)


@imports(onnx.Cast1)
def import_cast1(c: Conversion, op: onnx.Cast1, x: Value) -> Value:
    return _converted(c, x, op.element, True)


def _converted(c: Conversion, x: Value, element: ElementType, saturate: bool) -> Value:
    source = element_of(x)
    if ElementType.STRING in (source, element) and source is not element:
        raise c.refuse("OpenVINO converts no strings")
    if element is ElementType.F8E8M0 and source is not element:
        raise c.refuse("OpenVINO rounds to f8e8m0 in its own way", "convert to f8e4m3 or f16")
    if not is_small(element):
        return ov_forms.convert(c, x, element)
    return converted_float(c, x, element, saturate=saturate)


def converted_float(c: Conversion, x: Value, element: ElementType, *, saturate: bool) -> Value:
    """`x` as a 4 or 8-bit float; what is too large becomes the largest with `saturate`."""
    source = element_of(x)
    if not saturate:
        return ov_forms.convert(c, x, element)
    largest = _LARGEST.get(element)
    if largest is None:
        raise c.refuse(f"OpenVINO IR has no element type {element}")
    if source.is_integer or source is ElementType.BOOLEAN:
        x = ov_forms.convert(c, x, ElementType.F32)
    return ov_forms.convert(c, c(ov_activation.Clamp(-largest, largest), x), element)


@exports(ov.ConvertLike)
def export_convert_like(c: Conversion, op: ov.ConvertLike, x: Value, like: Value) -> Value:
    """The type of the second operand is known, so its value need not be kept alive."""
    element = element_of(like)
    if element is not ElementType.DYNAMIC:
        forms.require_element(c, element)
        return c(onnx.Cast6(element, saturate=not is_small(element)), x)
    if c.opset < 15:
        raise c.refuse("the element type is not known", "write opset 15 or newer")
    return c(onnx.CastLike(), x, like)


@imports(onnx.CastLike)
def import_cast_like(c: Conversion, op: onnx.CastLike, x: Value, like: Value) -> Value:
    element = element_of(like)
    if element is ElementType.DYNAMIC:
        return c(ov.ConvertLike(), x, like)
    return _converted(c, x, element, op.saturate)


@exports(ov.Identity)
def export_identity(c: Conversion, op: ov.Identity, x: Value) -> Value:
    return forms.identity(c, x)


@takes_virtual
@imports(onnx.Identity)
def import_identity(c: Conversion, op: onnx.Identity, x: Converted) -> Converted:
    """Nothing: readers of the result read the operand."""
    return x


@imports(onnx.BitCast)
def import_bit_cast(c: Conversion, op: onnx.BitCast, x: Value) -> Value:
    if element_of(x) is op.to:
        return x
    raise c.refuse("OpenVINO cannot read the bits of a number as another type")
