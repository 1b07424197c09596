"""Arithmetic layers of versions 2 to 7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from irloop.dialects.openvino import comparison, matmul
from irloop.dialects.openvino import elementwise as today
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.activation import Pointwise, channels_of
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.steps import F32, I32, Steps
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

_REAL: Mapping[str, Callable[[], Op]] = {
    "sum": today.Add,
    "mul": today.Multiply,
    "prod": today.Multiply,
    "max": today.Maximum,
    "min": today.Minimum,
    "sub": today.Subtract,
    "div": today.Divide,
    "squared_diff": today.SquaredDifference,
    "pow": today.Power,
}
#: The sign of the result of `floor_mod` is that of the dividend, as measured.
_WHOLE: Mapping[str, Callable[[], Op]] = {"floor_mod": today.Mod}
_TESTS: Mapping[str, Callable[[], Op]] = {
    "equal": comparison.Equal,
    "not_equal": comparison.NotEqual,
    "less": comparison.Less,
    "less_equal": comparison.LessEqual,
    "greater": comparison.Greater,
    "greater_equal": comparison.GreaterEqual,
}
_LOGICAL: Mapping[str, Callable[[], Op]] = {
    "logical_and": comparison.LogicalAnd,
    "logical_or": comparison.LogicalOr,
    "logical_xor": comparison.LogicalXor,
}
_ALL = (*_REAL, *_WHOLE, *_TESTS, *_LOGICAL, "logical_not", "mean")


class Eltwise(LegacyLayer, type="Eltwise", inputs=(1, None)):
    """One operation on two or more inputs, folded from the left; `coeff` scales those of a sum.

    The engine of 2020 ignored coefficients of inputs that are broadcast.
    """

    operation: str = "sum"
    coeff: tuple[float, ...] = ()
    is_real: ClassVar[bool] = False

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        is_plain = self._kind in _REAL and not self.coeff
        return [broadcast_of(inputs)] if is_plain else None

    @property
    def _kind(self) -> str:
        return self.operation.lower() or "sum"

    def build(self, s: Steps, *values: Value) -> Value:
        kind = self._kind
        if self.coeff and kind != "sum":
            raise LayerFault(
                "has coefficients, which only a sum can have",
                code="IRL405",
                expected="no coeff, as in the engine of 2020",
                found=f"operation {kind}",
            )
        if kind not in _ALL:
            raise LayerFault(
                "has an unknown operation", code="IRL121", expected=", ".join(_ALL), found=kind
            )
        if kind == "logical_not":
            return s.real(s(comparison.LogicalNot(), _truth(s, values[0])))
        if kind in _LOGICAL:
            return _folded(s, _LOGICAL[kind], [_truth(s, value) for value in values])
        if kind in _WHOLE:
            return _folded(s, _WHOLE[kind], [s.convert(value, I32) for value in values])
        values = tuple(_common(s, values))
        if kind in _TESTS:
            return _folded(s, _TESTS[kind], values)
        if len({s.dims(value) for value in values}) == 1:
            values = tuple(self._scaled(s, values))
        made = _folded(s, _REAL["sum" if kind == "mean" else kind], values)
        return s.divide(made, s.number(len(values))) if kind == "mean" else made

    def _scaled(self, s: Steps, values: tuple[Value, ...]) -> list[Value]:
        if not self.coeff:
            return list(values)
        if len(self.coeff) != len(values):
            raise LayerFault(
                "has another number of coefficients than inputs",
                code="IRL405",
                expected=str(len(values)),
                found=str(len(self.coeff)),
            )
        pairs = zip(values, self.coeff, strict=True)
        return [value if c == 1 else s.multiply(s.real(value), s.number(c)) for value, c in pairs]

    def fault_of_then(self, layer: Layer) -> str:
        is_uniform = len({port.dims for port in layer.inputs}) < 2
        if is_uniform or all(factor == 1 for factor in self.coeff):
            return ""
        return (
            "has coefficients and inputs of several sizes; the engine of 2020 ignored the "
            "coefficients then, and irloop ignores them, too"
        )


def _common(s: Steps, values: tuple[Value, ...]) -> list[Value]:
    """The values in one element type: their own if they agree, else f32."""
    elements = {element_of(value) for value in values}
    element = elements.pop() if len(elements) == 1 else F32
    if element in (ElementType.U8, ElementType.I8, ElementType.BOOLEAN):
        element = F32
    return [s.convert(value, element) for value in values]


def _truth(s: Steps, value: Value) -> Value:
    real = s.real(value)
    return s(comparison.NotEqual(), real, s.number(0.0))


def _folded(s: Steps, op: Callable[[], Op], values: list[Value] | tuple[Value, ...]) -> Value:
    made = values[0]
    for value in values[1:]:
        if element_of(value) is not element_of(made):
            made = s.convert(made, element_of(value))
        made = s(op(), made, value)
    return made


def broadcast_of(inputs: Dims2) -> Dims:
    """The shape to which all inputs are broadcast, aligned at their last axes.

    Raises:
        LayerFault: when they do not fit.
    """
    rank = max(map(len, inputs))
    common = []
    for at in range(-rank, 0):
        sizes = {dims[at] for dims in inputs if len(dims) >= -at} - {1}
        if len(sizes) > 1:
            raise LayerFault(
                "has inputs of sizes that do not fit",
                expected="equal sizes, or 1",
                found=" and ".join(str(list(dims)) for dims in inputs),
            )
        common.append(sizes.pop() if sizes else 1)
    return tuple(common)


class Power(Pointwise, type="Power", inputs=1):
    """(shift + scale * x) to a power."""

    power: float = 1.0
    scale: float = 1.0
    shift: float = 0.0

    def build(self, s: Steps, x: Value) -> Value:
        if self.scale != 1:
            x = s.multiply(x, s.number(self.scale))
        if self.shift != 0:
            x = s.add(x, s.number(self.shift))
        return x if self.power == 1 else s.power(x, self.power)


class ScaleShift(Pointwise, type="ScaleShift", inputs=1):
    """x * weights + biases, with one number for each channel, or one for all (`broadcast`)."""

    broadcast: int = 0
    needed: ClassVar[tuple[str, ...]] = ("weights",)

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        shape = (1,) if self.broadcast else (channels_of(inputs[0]),)
        return {"weights": shape, "biases": shape}

    def build(self, s: Steps, x: Value) -> Value:
        dims = per_channel(s.dims(x), s.shapes["weights"])
        made = s.multiply(x, s.weights("weights", dims))
        return s.add(made, s.weights("biases", dims)) if s.has("biases") else made


class BatchNormalization(Pointwise, type="BatchNormalization", inputs=1):
    """(x - biases) / sqrt(weights + epsilon), with one number for each channel."""

    epsilon: float = 1e-3
    needed: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        shape = (channels_of(inputs[0]),)
        return {"weights": shape, "biases": shape}

    def build(self, s: Steps, x: Value) -> Value:
        dims = per_channel(s.dims(x), s.shapes["weights"])
        spread = s(today.Sqrt(), s.add(s.weights("weights", dims), s.number(self.epsilon)))
        return s.divide(s.subtract(x, s.weights("biases", dims)), spread)


def per_channel(dims: Dims, shape: Dims) -> Dims:
    """The shape of one number for each channel, so that it is broadcast along axis 1."""
    if len(dims) < 2 or shape == (1,):
        return shape
    return (1, *shape, *[1] * (len(dims) - 2))


class Gemm(LegacyLayer, type="Gemm", inputs=(2, 3)):
    """alpha * A @ B + beta * C; the axes before the last two are broadcast."""

    alpha: float = 1.0
    beta: float = 1.0
    transpose_a: bool = False
    transpose_b: bool = False

    def build(self, s: Steps, a: Value, b: Value, c: Value | None = None) -> Value:
        made = s(matmul.MatMul(self.transpose_a, self.transpose_b), a, b)
        if self.alpha != 1:
            made = s.multiply(made, s.number(self.alpha))
        if c is None or self.beta == 0:
            return made
        return s.add(made, c if self.beta == 1 else s.multiply(c, s.number(self.beta)))
