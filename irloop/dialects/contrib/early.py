"""Experimental ai.onnx operations that opset 10 removed, or a later opset defined anew.

ONNX Runtime still runs them in models of older opsets.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.elements import EVERY
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import needed_dims, needed_element, needed_rank
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.meanings import Axes, Ends, Starts
from irloop.graph.model import Value

__all__ = [
    "Affine",
    "Crop",
    "DynamicSlice",
    "ImageScaler",
    "MeanVarianceNormalization1",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
    "ThresholdedRelu1",
]


class _Early(ContribOp):
    """Base of experimental ai.onnx operations that a later opset removed or defined anew.

    `oldest` is the first opset that has the standard operations for the decomposition. It is at
    least 7, because older opsets do not broadcast operands as NumPy does.
    """

    oldest: ClassVar[int] = 7
    operands = "x: T -> T where T: f16 | f32 | f64"


class Crop(_Early, type="Crop", domain="", until=9, inputs=1):
    """Images [n, c, height, width] without the rows and columns in `border`.

    `border` holds the widths of the border at the left, top, right and bottom. If `scale`, the
    height and width of the result, is given, the widths at the right and bottom are ignored.
    """

    border: tuple[int, ...] = ()
    scale: tuple[int, ...] = ()

    def decompose(self, s: Steps, x: Value) -> Value:
        if needed_rank(s, x) != 4 or len(self.border) != 4 or len(self.scale) not in (0, 2):
            raise RefusedError(
                "it takes a tensor of four dimensions, four borders, and two sizes or none"
            )
        if min(*self.border, *self.scale) < 0:
            raise RefusedError("its borders and sizes must not be negative")
        left, top, right, bottom = self.border
        ends = [-bottom if bottom else TO_THE_END, -right if right else TO_THE_END]
        if self.scale:
            ends = [top + self.scale[0], left + self.scale[1]]
            for size, end in zip(needed_dims(s, x)[2:], ends, strict=True):
                if size is not None and end > size:
                    raise RefusedError("its borders and sizes are larger than the image")
        return s.slice(x, [top, left], ends, [2, 3])


class ImageScaler(_Early, type="ImageScaler", domain="", until=9, inputs=1):
    """scale * x, plus the value of `bias` for each channel (axis 1)."""

    scale: float = 1.0
    bias: tuple[float, ...] = ()

    def decompose(self, s: Steps, x: Value) -> Value:
        if needed_rank(s, x) != 4 or needed_dims(s, x)[1] not in (None, len(self.bias)):
            raise RefusedError("it takes a tensor of four dimensions and a bias for each channel")
        bias = s.constant([[[number]] for number in self.bias], needed_element(s, x))
        return s.add(s.multiply(x, s.scalar(self.scale, x)), bias)


class Affine(_Early, type="Affine", domain="", until=9, inputs=1):
    """alpha * x + beta."""

    alpha: float = 1.0
    beta: float = 0.0

    def decompose(self, s: Steps, x: Value) -> Value:
        return s.add(s.multiply(x, s.scalar(self.alpha, x)), s.scalar(self.beta, x))


class Scale(_Early, type="Scale", domain="", until=9, inputs=1):
    """scale * x."""

    scale: float = 1.0

    def decompose(self, s: Steps, x: Value) -> Value:
        return s.multiply(x, s.scalar(self.scale, x))


class ScaledTanh(_Early, type="ScaledTanh", domain="", until=9, inputs=1):
    """alpha * tanh(beta * x)."""

    alpha: float = 1.0
    beta: float = 1.0

    def decompose(self, s: Steps, x: Value) -> Value:
        inner = s.op("Tanh", s.multiply(x, s.scalar(self.beta, x)))
        return s.multiply(inner, s.scalar(self.alpha, x))


class ParametricSoftplus(_Early, type="ParametricSoftplus", domain="", until=9, inputs=1):
    """alpha * log(1 + exp(beta * x))."""

    alpha: float = 1.0
    beta: float = 1.0

    def decompose(self, s: Steps, x: Value) -> Value:
        inner = s.op("Softplus", s.multiply(x, s.scalar(self.beta, x)))
        return s.multiply(inner, s.scalar(self.alpha, x))


class ThresholdedRelu1(_Early, type="ThresholdedRelu", domain="", until=9, inputs=1):
    """x where x > alpha, else 0; ai.onnx defines it since opset 10."""

    #: Max broadcasts its operands since opset 8.
    oldest: ClassVar[int] = 8

    alpha: float = 1.0

    def decompose(self, s: Steps, x: Value) -> Value:
        above = s.greater(x, s.scalar(self.alpha, x))
        if s.opset >= 9:
            return s.select(above, x, s.scalar(0, x))
        # The maximum is finite where the factor is 0.
        raised = s.maximum(x, s.scalar(self.alpha, x))
        return s.multiply(raised, s.convert(above, needed_element(s, x)))


class MeanVarianceNormalization1(
    _Early, type="MeanVarianceNormalization", domain="", until=8, inputs=1
):
    """x [n, c, height, width] minus its mean, divided by its standard deviation, in each channel.

    With `across_channels` the mean is that of all channels; without `normalize_variance` nothing is
    divided. ai.onnx defines the operation since opset 9, with axes.
    """

    across_channels: int = 0
    normalize_variance: int = 1

    def decompose(self, s: Steps, x: Value) -> Value:
        if needed_rank(s, x) != 4:
            raise RefusedError("it takes a tensor of four dimensions")
        axes = (0, 1, 2, 3) if self.across_channels else (0, 2, 3)
        centred = s.subtract(x, s.reduce("Mean", x, axes))
        if not self.normalize_variance:
            return centred
        return s.divide(centred, s.op("Sqrt", s.reduce("Mean", s.multiply(centred, centred), axes)))


class DynamicSlice(_Early, type="DynamicSlice", domain="", until=9, inputs=(3, 4)):
    """Slice with starts, ends and axes as inputs, as Slice itself has them since opset 10."""

    meanings = (
        Starts(1, data=0),
        Ends(2, data=0),
        Axes(3, data=0),
    )

    operands = f"data: T, starts: I, ends: I, axes?: I -> T where T: {EVERY}, I: i32 | i64"

    def decompose(
        self, s: Steps, x: Value, starts: Value, ends: Value, axes: Value | None
    ) -> Value:
        return s.slice_by(x, starts, ends, axes)
