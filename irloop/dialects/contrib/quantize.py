"""QuantizeLinear and DequantizeLinear of ONNX Runtime: more element types, no default axis."""

from __future__ import annotations

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import widened
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.types import ElementType, TensorType, ValueType

__all__ = ["DequantizeLinear", "QuantizeLinear"]

#: For each type, the smallest and the largest value that f32 represents exactly.
RANGES = {
    ElementType.U8: (0, 255),
    ElementType.I8: (-128, 127),
    ElementType.U16: (0, 65535),
    ElementType.I16: (-32768, 32767),
}


def along(s: Steps, x: Term, vector: Term, axis: int | None) -> Term:
    """Reshape scales or zero points so that they broadcast with `x`.

    A vector runs along `axis` of `x`; one element becomes a scalar.

    Raises:
        CannotDecomposeError: for a vector if `axis` is None.
    """
    if vector.rank == 0 or vector.dims == (1,):
        return s.scalar(vector)
    if axis is None:
        raise CannotDecomposeError("it has a vector of scales, but no axis")
    return s.reshape(vector, [-1, *[1] * (x.rank - 1 - axis % x.rank)])


class QuantizeLinear(ContribOp, type="QuantizeLinear", inputs=(2, 3)):
    """round(x / scale) + zero point, saturated; u8 without a zero point."""

    operands = (
        "x: F, scale: F, zero_point?: Q -> Q where F: f16 | f32, Q: i4 | i8 | i16 | u4 | u8 | u16"
    )
    cost = "linear"

    axis: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 1)
        element = args.element(2) if args.has(2) else ElementType.U8
        return [TensorType(element, args.shape(0))]

    def decompose(self, s: Steps, x: Term, scale: Term, zero: Term | None) -> Term:
        element = ElementType.U8 if zero is None else zero.element
        if element in (ElementType.U8, ElementType.I8) and x.element is ElementType.F32:
            if self.axis is None:
                shift = None if zero is None else s.scalar(zero)
                return s.op("QuantizeLinear", x, s.scalar(scale), shift)
            if s.opset >= 13:
                return s.op("QuantizeLinear", x, scale, zero, axis=self.axis)
        if element not in RANGES:
            raise CannotDecomposeError(f"it quantizes to {element}")
        wide = widened(s, x)
        rounded = s.op("Round", wide / widened(s, along(s, x, scale, self.axis)))
        if zero is not None:
            rounded = rounded + s.convert(along(s, x, zero, self.axis), wide.element)
        return s.convert(s.clip(rounded, *RANGES[element]), element)


class DequantizeLinear(ContribOp, type="DequantizeLinear", inputs=(2, 3)):
    """(x - zero point) * scale."""

    operands = (
        "x: Q, scale: F, zero_point?: Q -> F where Q: i4 | i8 | i16 | i32 | u4 | u8 | u16, F: f16"
        " | f32"
    )
    cost = "linear"

    axis: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 1)
        return [TensorType(args.element(1), args.shape(0))]

    def decompose(self, s: Steps, x: Term, scale: Term, zero: Term | None) -> Term:
        standard = x.element in (ElementType.U8, ElementType.I8, ElementType.I32)
        if standard and scale.element is ElementType.F32:
            if self.axis is None:
                shift = None if zero is None else s.scalar(zero)
                return s.op("DequantizeLinear", x, s.scalar(scale), shift)
            if s.opset >= 13:
                return s.op("DequantizeLinear", x, scale, zero, axis=self.axis)
        number = s.convert(x, ElementType.F32)
        if zero is not None:
            number = number - s.convert(along(s, x, zero, self.axis), ElementType.F32)
        return s.convert(number * widened(s, along(s, x, scale, self.axis)), scale.element)
