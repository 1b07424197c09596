"""Activations of ONNX Runtime, alone and with a bias."""

from __future__ import annotations

import math

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.writing.known_inputs import needed_size
from irloop.graph.arguments import Arguments
from irloop.graph.model import Value
from irloop.graph.types import UNKNOWN_DIM, Shape, TensorType, ValueType

__all__ = [
    "BiasAdd",
    "BiasGelu",
    "BiasSplitGelu",
    "FastGelu",
    "Gelu",
    "QuickGelu",
]


def gelu(s: Steps, x: Value) -> Value:
    """x * (1 + erf(x / sqrt(2))) / 2."""
    if s.opset >= 20:
        return s.op("Gelu", x)
    return _weighted(s, x, s.op("Erf", s.multiply(x, s.scalar(math.sqrt(0.5), x))))


def fast_gelu(s: Steps, x: Value) -> Value:
    """x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2."""
    if s.opset >= 20:
        return s.op("Gelu", x, approximate="tanh")
    cube = s.multiply(s.multiply(x, x), x)
    total = s.add(x, s.multiply(cube, s.scalar(0.044715, x)))
    return _weighted(s, x, s.op("Tanh", s.multiply(total, s.scalar(math.sqrt(2 / math.pi), x))))


def _weighted(s: Steps, x: Value, weight: Value) -> Value:
    """x * (1 + weight) / 2."""
    return s.multiply(s.multiply(x, s.add(weight, s.scalar(1.0, x))), s.scalar(0.5, x))


class Gelu(ContribOp, type="Gelu", inputs=1):
    """x * (1 + erf(x / sqrt(2))) / 2."""

    operands = "x: T -> T where T: bf16 | f16 | f32 | f64"
    elementwise = True

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value) -> Value:
        return gelu(s, x)


class BiasGelu(ContribOp, type="BiasGelu", inputs=2):
    """Gelu of the sum of a tensor and a vector."""

    operands = "x: T, bias: T -> T where T: bf16 | f16 | f32 | f64"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        inference.broadcast(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value, bias: Value) -> Value:
        return gelu(s, s.add(x, bias))


class FastGelu(ContribOp, type="FastGelu", inputs=(1, 2)):
    """x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2; a bias is first added to x."""

    operands = "x: T, bias?: T -> T where T: bf16 | f16 | f32 | f64"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value, bias: Value | None) -> Value:
        return fast_gelu(s, x if bias is None else s.add(x, bias))


class QuickGelu(ContribOp, type="QuickGelu", inputs=1):
    """x * sigmoid(alpha * x)."""

    operands = "x: T -> T where T: bf16 | f16 | f32 | f64"

    alpha: float = 1.7020000219345093

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value) -> Value:
        return s.multiply(x, s.op("Sigmoid", s.multiply(x, s.scalar(self.alpha, x))))


class BiasAdd(ContribOp, type="BiasAdd", inputs=3):
    """x + bias + skip."""

    operands = "x: T, bias: T, skip: T -> T where T: f16 | f32"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value, bias: Value, skip: Value) -> Value:
        return s.add(s.add(x, bias), skip)


class BiasSplitGelu(ContribOp, type="BiasSplitGelu", inputs=2):
    """The first half of x + bias along the last axis, times the Gelu of the second half."""

    operands = "x: T, bias: T -> T where T: f16 | f32"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        dims = args.shape(0).dims
        if not dims:
            return [args.tensor(0)]
        last = dims[-1]
        half = last // 2 if isinstance(last, int) else UNKNOWN_DIM
        return [TensorType(args.element(0), Shape((*dims[:-1], half)))]

    def decompose(self, s: Steps, x: Value, bias: Value) -> Value:
        half = needed_size(s, bias, 0, "the size of the bias") // 2
        left, right = s.split(s.add(x, bias), -1, [half, half])
        return s.multiply(left, gelu(s, right))
