"""8-bit operations of ONNX Runtime that dequantise their operands before they compute."""

from __future__ import annotations

import math
from typing import ClassVar

from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.convolution import channels_first, channels_last
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.onnx.shape import Flatten
from irloop.dialects.writing.known_inputs import needed_element, needed_rank
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = [
    "NhwcMaxPool",
    "QLinearAdd",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearConv",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearMul",
    "QLinearReduceMean",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QLinearWhere",
]

#: With smaller scales, 255 steps stay below the largest f32 number, 3.4e38.
_LARGEST_SCALE = 1e36


def dequantized(s: Steps, x: Value, scale: Value, zero: Value | None) -> Value:
    """(x - zero point) * scale, one scale for all elements."""
    shift = None if zero is None else s.as_scalar(zero)
    return s.op("DequantizeLinear", x, s.as_scalar(scale), shift)


def quantized(s: Steps, x: Value, scale: Value, zero: Value | None, like: Value) -> Value:
    """round(x / scale) + zero point, saturated, in the element type of `like`."""
    shift = s.scalar(0, like) if zero is None else s.as_scalar(zero)
    return s.op("QuantizeLinear", x, s.as_scalar(scale), shift)


class _Binary(ContribOp):
    operands = (
        "a: T, a_scale: f32, a_zero_point?: T, b: T, b_scale: f32, b_zero_point?: T, c_scale:"
        " f32, c_zero_point?: T -> T where T: i8 | u8"
    )
    omissible: ClassVar[frozenset[int]] = frozenset({2, 5})

    def combined(self, s: Steps, a: Value, b: Value) -> Value:
        """Compute the result from dequantised operands."""
        raise NotImplementedError

    def decompose(
        self,
        s: Steps,
        a: Value,
        a_scale: Value,
        a_zero: Value | None,
        b: Value,
        b_scale: Value,
        b_zero: Value | None,
        scale: Value,
        zero: Value | None,
    ) -> Value:
        left, right = dequantized(s, a, a_scale, a_zero), dequantized(s, b, b_scale, b_zero)
        return quantized(s, self.combined(s, left, right), scale, zero, a)


class QLinearAdd(_Binary, type="QLinearAdd", inputs=(7, 8)):
    """The sum of two quantized tensors, quantized."""

    def combined(self, s: Steps, a: Value, b: Value) -> Value:
        return s.add(a, b)


class QLinearMul(_Binary, type="QLinearMul", inputs=(7, 8)):
    """The product of two quantized tensors, quantized."""

    def combined(self, s: Steps, a: Value, b: Value) -> Value:
        return s.multiply(a, b)


class _Unary(ContribOp):
    operands = (
        "x: T, x_scale: f32, x_zero_point?: T, y_scale: f32, y_zero_point?: T -> T where T: i8 | u8"
    )
    omissible: ClassVar[frozenset[int]] = frozenset({2})

    def applied(self, s: Steps, x: Value) -> Value:
        """Compute the result from a dequantised operand."""
        raise NotImplementedError

    def decompose(
        self,
        s: Steps,
        x: Value,
        x_scale: Value,
        x_zero: Value | None,
        scale: Value,
        zero: Value | None,
    ) -> Value:
        found = self.applied(s, dequantized(s, x, x_scale, x_zero))
        return quantized(s, found, scale, zero, x)


class QLinearLeakyRelu(_Unary, type="QLinearLeakyRelu", inputs=(4, 5)):
    """LeakyRelu of a quantized tensor, quantized."""

    alpha: float = 0.009999999776482582

    def applied(self, s: Steps, x: Value) -> Value:
        return s.op("LeakyRelu", x, alpha=self.alpha)


class QLinearSigmoid(_Unary, type="QLinearSigmoid", inputs=(4, 5)):
    """Sigmoid of a quantized tensor, with a quantized result."""

    def applied(self, s: Steps, x: Value) -> Value:
        return s.op("Sigmoid", x)


class QLinearSoftmax(_Unary, type="QLinearSoftmax", inputs=5):
    """Softmax of a quantized tensor, with a quantized result.

    The softmax runs along `axis`; before opset 13, it runs over all dimensions from `axis` on.
    """

    axis: int = -1
    opset: int = 13

    def decompose(
        self,
        s: Steps,
        x: Value,
        x_scale: Value,
        x_zero: Value | None,
        scale: Value,
        zero: Value | None,
    ) -> Value:
        factor = s.constant_of(x_scale)
        if factor is None or factor.size != 1 or factor.max() < _LARGEST_SCALE:
            return super().decompose(s, x, x_scale, x_zero, scale, zero)
        if math.isinf(factor.max()):
            # ONNX Runtime returns the code 0 here, whatever the zero point is.
            return s.expand(s.scalar(0, x), s.shape_of(x))
        # Scaled codes would overflow. ONNX Runtime scales the differences from the largest code.
        codes = s.convert(x, ElementType.F32)
        # The axes over which the results add up to 1.
        axis = self.axis % needed_rank(s, x)
        axes = (axis,) if self.opset >= 13 else tuple(range(axis, needed_rank(s, x)))
        differences = s.subtract(codes, s.reduce("Max", codes, axes))
        return quantized(
            s, self.applied(s, s.multiply(differences, s.as_scalar(x_scale))), scale, zero, x
        )

    def applied(self, s: Steps, x: Value) -> Value:
        axis = self.axis % needed_rank(s, x)
        if self.opset >= 13 or axis == needed_rank(s, x) - 1:
            return s.softmax(x, axis)
        return s.reshape_to(s.softmax(s(Flatten(axis), x), -1), s.shape_of(x))


class QLinearReduceMean(_Unary, type="QLinearReduceMean", inputs=(4, 5)):
    """ReduceMean of a quantized tensor; the result is quantized, too."""

    axes: tuple[int, ...] = ()
    keepdims: int = 1

    def applied(self, s: Steps, x: Value) -> Value:
        axes = self.axes or tuple(range(needed_rank(s, x)))
        return s.reduce("Mean", x, axes, keep=bool(self.keepdims))


class QLinearGlobalAveragePool(_Unary, type="QLinearGlobalAveragePool", inputs=5):
    """The mean of each channel of a quantized tensor, quantized."""

    channels_last: int = 0

    def applied(self, s: Steps, x: Value) -> Value:
        rank = needed_rank(s, x)
        return s.reduce("Mean", x, range(1, rank - 1) if self.channels_last else range(2, rank))


class QLinearAveragePool(_Unary, type="QLinearAveragePool", inputs=(4, 5)):
    """AveragePool of a quantized tensor; the result is quantized, too.

    With `channels_last`, the channels are the last axis of the tensor and of the result.
    """

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    channels_last: int = 0
    count_include_pad: int = 0
    pads: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def decompose(
        self,
        s: Steps,
        x: Value,
        x_scale: Value,
        x_zero: Value | None,
        scale: Value,
        zero: Value | None,
    ) -> Value:
        if not self.channels_last:
            return super().decompose(s, x, x_scale, x_zero, scale, zero)
        # Transpose the quantized codes: in opset 21, ONNX Runtime refuses AveragePool between
        # transposed values that it dequantized from i8.
        first = channels_first(s, x)
        return channels_last(s, super().decompose(s, first, x_scale, x_zero, scale, zero))

    def applied(self, s: Steps, x: Value) -> Value:
        return s.op(
            "AveragePool",
            x,
            kernel_shape=self.kernel_shape,
            auto_pad=self.auto_pad,
            ceil_mode=bool(self.ceil_mode),
            count_include_pad=bool(self.count_include_pad),
            pads=self.pads,
            strides=self.strides,
        )


class QLinearConcat(ContribOp, type="QLinearConcat", inputs=(3, None)):
    """Concatenates quantized tensors along `axis` and quantizes the result.

    Each tensor, and the result, has its own scale and zero point.
    """

    operands = "y_scale: f32, y_zero_point: T, inputs...: f32 | i8 | u8 -> T where T: i8 | u8"

    axis: int

    def decompose(self, s: Steps, scale: Value, zero: Value, *inputs: Value | None) -> Value:
        parts: list[Value] = []
        for at in range(0, len(inputs), 3):
            x, x_scale, *rest = inputs[at : at + 3]
            if x is None or x_scale is None:
                raise RefusedError("one of its tensors has no scale")
            parts.append(dequantized(s, x, x_scale, rest[0] if rest else None))
        return quantized(s, s.concat(parts, self.axis), scale, zero, zero)


class QLinearWhere(ContribOp, type="QLinearWhere", inputs=9):
    """Elements of one quantized tensor if a condition holds, otherwise of another one."""

    operands = (
        "condition: boolean, x: T, x_scale: f32, x_zero_point: T, y: T, y_scale: f32,"
        " y_zero_point: T, z_scale: f32, z_zero_point: T -> T where T: i8 | u8"
    )

    def decompose(self, s: Steps, condition: Value, *inputs: Value) -> Value:
        x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = inputs
        first, second = dequantized(s, x, x_scale, x_zero), dequantized(s, y, y_scale, y_zero)
        return quantized(s, s.select(condition, first, second), scale, zero, x)


class QLinearConv(ContribOp, type="QLinearConv", inputs=(8, 9)):
    """QLinearConv of ai.onnx; with `channels_last` the channels of x and the result are last."""

    operands = (
        "x: X, x_scale: f32, x_zero_point: X, w: W, w_scale: f32, w_zero_point: W, y_scale: f32,"
        " y_zero_point: Y, b?: i32 -> Y where X: i8 | u8, W: i8 | u8, Y: i8 | u8"
    )

    auto_pad: str = "NOTSET"
    channels_last: int = 0
    dilations: tuple[int, ...] = ()
    group: int = 1
    kernel_shape: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def decompose(self, s: Steps, x: Value, *inputs: Value | None) -> Value:
        result = s.op(
            "QLinearConv",
            channels_first(s, x) if self.channels_last else x,
            *inputs,
            auto_pad=self.auto_pad,
            dilations=self.dilations,
            group=self.group,
            kernel_shape=self.kernel_shape,
            pads=self.pads,
            strides=self.strides,
        )
        return channels_last(s, result) if self.channels_last else result


class NhwcMaxPool(ContribOp, type="NhwcMaxPool", inputs=1):
    """MaxPool of 8-bit integers with the channels last."""

    operands = "x: T -> T where T: i8 | u8"

    kernel_shape: tuple[int, ...]
    auto_pad: str = "NOTSET"
    ceil_mode: int = 0
    dilations: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def decompose(self, s: Steps, x: Value) -> Value:
        first = channels_first(s, x)
        # MaxPool takes 8-bit integers since opset 12.
        first = first if s.opset >= 12 else s.convert(first, ElementType.F32)
        result = s.op(
            "MaxPool",
            first,
            kernel_shape=self.kernel_shape,
            auto_pad=self.auto_pad,
            ceil_mode=bool(self.ceil_mode),
            dilations=self.dilations,
            pads=self.pads,
            strides=self.strides,
        )
        return channels_last(s, s.convert(result, needed_element(s, x)))
