"""Activations and other functions of one input of versions 2 to 7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from irloop.dialects.openvino import activation as today
from irloop.dialects.openvino import comparison, elementwise
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer, axis_of
from irloop.formats.openvino.legacy.steps import F32, Steps
from irloop.graph.model import Value
from irloop.graph.op import Op, attribute


class Pointwise(LegacyLayer):
    """The base of layers that take any input, and whose output has its shape."""

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        return [inputs[0]]


class Plain(Pointwise):
    """The base of layers that are one operation of today without attributes."""

    today: ClassVar[type[Op]]

    def build(self, s: Steps, x: Value) -> Value:
        return s(self.today(), x)


class Abs(Plain, type="Abs", inputs=1):
    """|x|."""

    today = elementwise.Abs


class Acos(Plain, type="Acos", inputs=1):
    """The inverse cosine."""

    today = elementwise.Acos


class Acosh(Plain, type="Acosh", inputs=1):
    """The inverse hyperbolic cosine."""

    today = elementwise.Acosh


class Asin(Plain, type="Asin", inputs=1):
    """The inverse sine."""

    today = elementwise.Asin


class Asinh(Plain, type="Asinh", inputs=1):
    """The inverse hyperbolic sine."""

    today = elementwise.Asinh


class Atan(Plain, type="Atan", inputs=1):
    """The inverse tangent."""

    today = elementwise.Atan


class Atanh(Plain, type="Atanh", inputs=1):
    """The inverse hyperbolic tangent."""

    today = elementwise.Atanh


class Ceil(Plain, type="Ceil", inputs=1):
    """Round up."""

    today = elementwise.Ceiling


class Ceiling(Plain, type="Ceiling", inputs=1):
    """Another name of Ceil."""

    today = elementwise.Ceiling


class Cos(Plain, type="Cos", inputs=1):
    """The cosine."""

    today = elementwise.Cos


class Cosh(Plain, type="Cosh", inputs=1):
    """The hyperbolic cosine."""

    today = elementwise.Cosh


class Erf(Plain, type="Erf", inputs=1):
    """The error function."""

    today = elementwise.Erf


class Exp(Plain, type="Exp", inputs=1):
    """The exponential function."""

    today = elementwise.Exp


class Floor(Plain, type="Floor", inputs=1):
    """Round down."""

    today = elementwise.Floor


class Log(Plain, type="Log", inputs=1):
    """The natural logarithm."""

    today = elementwise.Log


class Neg(Plain, type="Neg", inputs=1):
    """-x."""

    today = elementwise.Negative


class Sign(Plain, type="Sign", inputs=1):
    """The sign: -1, 0 or 1."""

    today = elementwise.Sign


class Sin(Plain, type="Sin", inputs=1):
    """The sine."""

    today = elementwise.Sin


class Sinh(Plain, type="Sinh", inputs=1):
    """The hyperbolic sine."""

    today = elementwise.Sinh


class Sqrt(Plain, type="Sqrt", inputs=1):
    """The square root."""

    today = elementwise.Sqrt


class Tan(Plain, type="Tan", inputs=1):
    """The tangent."""

    today = elementwise.Tan


class TanH(Plain, type="TanH", inputs=1):
    """The hyperbolic tangent; also written Tanh."""

    today = elementwise.Tanh


class Sigmoid(Plain, type="Sigmoid", inputs=1):
    """1 / (1 + exp(-x))."""

    today = today.Sigmoid


class Logistic(Plain, type="Logistic", inputs=1):
    """Another name of Sigmoid."""

    today = today.Sigmoid


class Softplus(Plain, type="Softplus", inputs=1):
    """log(1 + exp(x))."""

    today = today.SoftPlus


class Mish(Plain, type="Mish", inputs=1):
    """x * tanh(softplus(x))."""

    today = today.Mish


class Swish(Plain, type="Swish", inputs=1):
    """x * sigmoid(x)."""

    today = today.Swish


class HSwish(Plain, type="HSwish", inputs=1):
    """x * min(max(x + 3, 0), 6) / 6."""

    today = today.HSwish


class GELU(Plain, type="GELU", inputs=1):
    """x * (1 + erf(x / sqrt 2)) / 2."""

    today = today.Gelu2


class Softsign(Pointwise, type="Softsign", inputs=1):
    """x / (1 + |x|)."""

    def build(self, s: Steps, x: Value) -> Value:
        return s.divide(x, s.add(s(elementwise.Abs(), x), s.number(1.0)))


class Reciprocal(Pointwise, type="Reciprocal", inputs=1):
    """1 / x."""

    def build(self, s: Steps, x: Value) -> Value:
        return s.power(x, -1.0)


class Not(Pointwise, type="Not", inputs=1):
    """1 where the input is 0, else 0."""

    def build(self, s: Steps, x: Value) -> Value:
        return s.real(s(comparison.Equal(), x, s.number(0.0)))


class HardSigmoid(Pointwise, type="HardSigmoid", inputs=1):
    """alpha * x + beta, limited to 0 to 1."""

    alpha: float = 0.2
    beta: float = 0.5

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.HardSigmoid(), x, s.number(self.alpha), s.number(self.beta))


class Selu(Pointwise, type="Selu", inputs=1):
    """gamma * x for positive x, else gamma * alpha * (exp(x) - 1)."""

    alpha: float = 1.67326324
    gamma: float = 1.05070098

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.Selu(), x, s.number(self.alpha), s.number(self.gamma))


class ReLU(Pointwise, type="ReLU", inputs=1):
    """x for positive x, else negative_slope * x."""

    negative_slope: float = 0.0

    def build(self, s: Steps, x: Value) -> Value:
        if self.negative_slope == 0:
            return s(today.ReLU(), x)
        return s(today.PReLU(), x, s.constant([self.negative_slope], F32))


class ReLU6(LegacyLayer, type="ReLU6", inputs=1):
    """x limited to 0 to n."""

    n: float = 6.0

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        return [inputs[0]] if self.n >= 0 else None

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.Clamp(0.0, self.n), x)


class Clamp(LegacyLayer, type="Clamp", inputs=1):
    """x limited to min to max."""

    min: float
    max: float

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        return [inputs[0]] if self.min <= self.max else None

    def build(self, s: Steps, x: Value) -> Value:
        if self.min > self.max:
            raise LayerFault(
                "has a minimum above its maximum",
                code="IRL405",
                expected="min below max",
                found=f"{self.min} and {self.max}",
            )
        return s(today.Clamp(self.min, self.max), x)


class ELU(Pointwise, type="ELU", inputs=1):
    """x for positive x, else alpha * (exp(x) - 1)."""

    alpha: float = 1.0

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.Elu(self.alpha), x)


class PReLU(Pointwise, type="PReLU", inputs=1):
    """x for positive x, else slope * x; one slope for each channel, or one for all."""

    channel_shared: bool = False
    needed: ClassVar[tuple[str, ...]] = ("weights",)

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        return {"weights": (1,) if self.channel_shared else (channels_of(inputs[0]),)}

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.PReLU(), x, s.weights())


class SoftMax(LegacyLayer, type="SoftMax", inputs=1):
    """The softmax along an axis."""

    axis: int = 1

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        axis_of(self.axis, inputs[0])
        return [inputs[0]]

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.SoftMax1(axis=s.axis(self.axis, x)), x)


class LogSoftmax(LegacyLayer, type="LogSoftmax", inputs=1):
    """The logarithm of the softmax along an axis, which may be negative; the last by default."""

    axis: int = -1

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        axis_of(self.axis, inputs[0])
        return [inputs[0]]

    def build(self, s: Steps, x: Value) -> Value:
        return s(today.LogSoftmax(axis=s.axis(self.axis, x)), x)


class Activation(LegacyLayer, type="Activation", inputs=1):
    """The function that `type` names."""

    kind: str = attribute(name="type")
    alpha: float = 1.0
    negative_slope: float = 0.0
    n: float = 6.0
    min: float = 0.0
    max: float = 1.0

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        make = _FUNCTIONS.get(self.kind.lower())
        return None if make is None else make(self).sizes(inputs, outputs)

    def build(self, s: Steps, x: Value) -> Value:
        make = _FUNCTIONS.get(self.kind.lower())
        if make is None:
            raise LayerFault(
                "has an unknown function",
                code="IRL121",
                expected=", ".join(_FUNCTIONS),
                found=self.kind,
            )
        made: Value = make(self).build(s, x)
        return made


_FUNCTIONS: Mapping[str, Callable[[Activation], LegacyLayer]] = {
    "sigmoid": lambda _: Sigmoid(),
    "logistic": lambda _: Logistic(),
    "tanh": lambda _: TanH(),
    "exp": lambda _: Exp(),
    "not": lambda _: Not(),
    "elu": lambda given: ELU(given.alpha),
    "relu": lambda given: ReLU(given.negative_slope),
    "relu6": lambda given: ReLU6(given.n),
    "clamp": lambda given: Clamp(given.min, given.max),
    # The engine of 2020 did not run these on a CPU, other devices did.
    "abs": lambda _: Abs(),
    "sin": lambda _: Sin(),
    "sqrt": lambda _: Sqrt(),
    "softplus": lambda _: Softplus(),
    "hswish": lambda _: HSwish(),
}


def channels_of(dims: Dims) -> int:
    """The number of channels: axis 1, or the only axis.

    Raises:
        LayerFault: for a scalar.
    """
    if not dims:
        raise LayerFault("needs an input with channels", found="a scalar")
    return dims[1] if len(dims) > 1 else dims[0]
