"""Conversions of element types and the identity in the other dialect."""

from __future__ import annotations

from irloop.conversion import onnx_forms as forms
from irloop.conversion import openvino_forms as ov_forms
from irloop.conversion.framework import Conversion, Converted, exports, imports, takes_virtual
from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType


@exports(ov.Convert)
def export_convert(c: Conversion, op: ov.Convert, x: Value) -> Value:
    forms.require_element(c, op.destination_type)
    return c(onnx.Cast6(op.destination_type), x)


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
    if element.is_float and element.bits <= 8 and not saturate:
        raise c.refuse("OpenVINO saturates when it converts to 8-bit floats", "set saturate to 1")
    return ov_forms.convert(c, x, element)


@exports(ov.ConvertLike)
def export_convert_like(c: Conversion, op: ov.ConvertLike, x: Value, like: Value) -> Value:
    """The type of the second operand is known, so its value need not be kept alive."""
    element = element_of(like)
    if element is not ElementType.DYNAMIC:
        forms.require_element(c, element)
        return c(onnx.Cast6(element), x)
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
