"""Quantization and conversion of versions 2 to 7."""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects.openvino import quantize as today
from irloop.formats.openvino.legacy.base import LayerFault, LegacyLayer, precision_of
from irloop.formats.openvino.legacy.steps import F32, Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute
from irloop.graph.types import ElementType


class Quantizing(LegacyLayer):
    """Rounds to `levels` values between limits; where both limits are equal, a threshold."""

    levels: int = attribute(default=1, least=2)

    def build(self, s: Steps, x: Value, *limits: Value) -> Value:
        lows, highs = s.constant_of(limits[0]), s.constant_of(limits[1])
        if lows is not None and highs is not None and (lows > highs).any():
            raise LayerFault(
                "has an input low above its input high, which engines compute in different ways",
                code="IRL405",
                expected="input_low of at most input_high",
                found=f"{lows.max()} and {highs.min()}",
            )
        if lows is None or highs is None or not (lows == highs).any():
            return s(today.FakeQuantize(self.levels), x, *limits)
        # x > threshold ? high : low, which FakeQuantize of two levels computes, too, but not in
        # every engine at the threshold itself.
        above = s.greater(x, limits[0])
        binary = s.select(above, limits[3], limits[2])
        equal = lows == highs
        if equal.all():
            return binary
        apart = s.constant(highs + equal, F32)
        others = s(today.FakeQuantize(self.levels), x, limits[0], apart, *limits[2:])
        return s.select(s.constant(equal, ElementType.BOOLEAN), binary, others)


class Quantize(Quantizing, type="Quantize", since=2, until=5, inputs=5):
    """The name of FakeQuantize in versions 4 and 5."""


class FakeQuantize(Quantizing, type="FakeQuantize", since=6, inputs=5):
    """Rounds to `levels` values between limits."""


class Convert(LegacyLayer, type="Convert", inputs=1):
    """Converts to another element type; floats lose their fractions."""

    precision: str = ""
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value) -> Value:
        element = s.outputs[0].element
        if self.precision:
            element = precision_of(self.precision, "has a result")
        return s.convert(x, F32 if element is ElementType.F16 else element)
