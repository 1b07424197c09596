"""Experimental ai.onnx operations that opset 10 removed, or a later opset defined anew.

ONNX Runtime still runs them in models of older opsets.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.dialects.elements import EVERY
from irloop.graph.meanings import Axes, Ends, Starts

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

#: The end of an axis as a bound of Slice.
END = 2**31 - 1


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

    def decompose(self, s: Steps, x: Term) -> Term:
        if x.rank != 4 or len(self.border) != 4 or len(self.scale) not in (0, 2):
            raise CannotDecomposeError(
                "it takes a tensor of four dimensions, four borders, and two sizes or none"
            )
        if min(*self.border, *self.scale) < 0:
            raise CannotDecomposeError("its borders and sizes must not be negative")
        left, top, right, bottom = self.border
        ends = [-bottom if bottom else END, -right if right else END]
        if self.scale:
            ends = [top + self.scale[0], left + self.scale[1]]
            for size, end in zip(x.dims[2:], ends, strict=True):
                if size is not None and end > size:
                    raise CannotDecomposeError("its borders and sizes are larger than the image")
        if s.opset < 10:
            return s.op("Slice", x, starts=(top, left), ends=tuple(ends), axes=(2, 3))
        return s.slice(s.slice(x, 2, top, ends[0]), 3, left, ends[1])


class ImageScaler(_Early, type="ImageScaler", domain="", until=9, inputs=1):
    """scale * x, plus the value of `bias` for each channel (axis 1)."""

    scale: float = 1.0
    bias: tuple[float, ...] = ()

    def decompose(self, s: Steps, x: Term) -> Term:
        if x.rank != 4 or x.dims[1] not in (None, len(self.bias)):
            raise CannotDecomposeError(
                "it takes a tensor of four dimensions and a bias for each channel"
            )
        bias = s.like([[[number]] for number in self.bias], x)
        return x * self.scale + bias


class Affine(_Early, type="Affine", domain="", until=9, inputs=1):
    """alpha * x + beta."""

    alpha: float = 1.0
    beta: float = 0.0

    def decompose(self, s: Steps, x: Term) -> Term:
        return x * self.alpha + self.beta


class Scale(_Early, type="Scale", domain="", until=9, inputs=1):
    """scale * x."""

    scale: float = 1.0

    def decompose(self, s: Steps, x: Term) -> Term:
        return x * self.scale


class ScaledTanh(_Early, type="ScaledTanh", domain="", until=9, inputs=1):
    """alpha * tanh(beta * x)."""

    alpha: float = 1.0
    beta: float = 1.0

    def decompose(self, s: Steps, x: Term) -> Term:
        return s.op("Tanh", x * self.beta) * self.alpha


class ParametricSoftplus(_Early, type="ParametricSoftplus", domain="", until=9, inputs=1):
    """alpha * log(1 + exp(beta * x))."""

    alpha: float = 1.0
    beta: float = 1.0

    def decompose(self, s: Steps, x: Term) -> Term:
        return s.op("Softplus", x * self.beta) * self.alpha


class ThresholdedRelu1(_Early, type="ThresholdedRelu", domain="", until=9, inputs=1):
    """x where x > alpha, else 0; ai.onnx defines it since opset 10."""

    #: Max broadcasts its operands since opset 8.
    oldest: ClassVar[int] = 8

    alpha: float = 1.0

    def decompose(self, s: Steps, x: Term) -> Term:
        above = x > self.alpha
        if s.opset >= 9:
            return s.select(above, x, 0)
        # The maximum is finite where the factor is 0.
        return s.maximum(x, s.like(self.alpha, x)) * s.convert(above, x.element)


class MeanVarianceNormalization1(
    _Early, type="MeanVarianceNormalization", domain="", until=8, inputs=1
):
    """x [n, c, height, width] minus its mean, divided by its standard deviation, in each channel.

    With `across_channels` the mean is that of all channels; without `normalize_variance` nothing is
    divided. ai.onnx defines the operation since opset 9, with axes.
    """

    across_channels: int = 0
    normalize_variance: int = 1

    def decompose(self, s: Steps, x: Term) -> Term:
        if x.rank != 4:
            raise CannotDecomposeError("it takes a tensor of four dimensions")
        axes = (0, 1, 2, 3) if self.across_channels else (0, 2, 3)
        centred = x - s.reduce("ReduceMean", x, axes)
        if not self.normalize_variance:
            return centred
        return centred / s.op("Sqrt", s.reduce("ReduceMean", s.square(centred), axes))


class DynamicSlice(_Early, type="DynamicSlice", domain="", until=9, inputs=(3, 4)):
    """Slice with starts, ends and axes as inputs, as Slice itself has them since opset 10."""

    meanings = (
        Starts(1, data=0),
        Ends(2, data=0),
        Axes(3, data=0),
    )

    operands = f"data: T, starts: I, ends: I, axes?: I -> T where T: {EVERY}, I: i32 | i64"

    def decompose(self, s: Steps, x: Term, starts: Term, ends: Term, axes: Term | None) -> Term:
        if s.opset >= 10:
            return s.op("Slice", x, starts, ends, axes)
        known = [None if term is None else term.constant() for term in (starts, ends, axes)]
        if known[0] is None or known[1] is None or (axes is not None and known[2] is None):
            raise CannotDecomposeError(
                "its starts, ends or axes are computed, which Slice allows only since opset 10"
            )
        first, last, along = (() if item is None else tuple(item.tolist()) for item in known)
        return s.op("Slice", x, starts=first, ends=last, axes=along or tuple(range(len(first))))
