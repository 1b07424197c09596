"""Experimental ai.onnx operations that opset 10 removed.

ONNX Runtime still runs them in models of opset 9 or older.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term

__all__ = ["Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"]

#: The end of an axis as a bound of Slice.
END = 2**31 - 1


class _Early(ContribOp):
    """An operation that opset 10 removed; it can be decomposed in opsets 7 to 9.

    Before opset 7, operands are not broadcast as in NumPy.
    """

    oldest: ClassVar[int] = 7
    operands = "x: float -> float"


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
