"""Layers of versions 2 to 7 that resize images; the declared sizes of the output count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop.dialects.openvino import matmul
from irloop.dialects.openvino import resize as today
from irloop.formats.openvino.legacy.base import Dims, LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.steps import F32, Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

#: The largest matrix of weights that is computed while reading.
LARGEST_WEIGHTS = 1 << 22
#: Numbers that differ by less may be equal in f32.
NEAR = 1e-4


class Resizing(LegacyLayer):
    """The base of Resample and Interp."""

    def _resized(self, s: Steps, x: Value, op: today.Interpolate) -> Value:
        dims, out = s.dims(x), s.out()
        if len(out) != len(dims) or out[:2] != dims[:2] or len(dims) < 3:
            raise _other_sizes(dims, out)
        if out == dims:
            return x
        axes = list(range(2, len(dims)))
        scales = [out[axis] / dims[axis] if dims[axis] else 1.0 for axis in axes]
        sizes = s.i64(list(out[2:]))
        return s(op, x, sizes, s.constant(scales, F32), s.i64(axes))


def _other_sizes(dims: Dims, out: Dims) -> LayerFault:
    return LayerFault(
        "changes other sizes than those of the image",
        code="IRL401",
        expected=f"{list(dims[:2])} and the sizes of the image",
        found=str(list(out)),
    )


def _weights(size: int, count: int) -> Array:
    """The weight of each of `size` elements in each of `count` results: a triangle, widened.

    Raises:
        LayerFault: when there are more weights than irloop computes, or they are not determined.
    """
    import numpy as np

    if size * count > LARGEST_WEIGHTS:
        raise LayerFault(
            "shrinks too large an image with a wider filter",
            code="IRL405",
            expected=f"at most {LARGEST_WEIGHTS} weights",
            found=f"{size} times {count}",
        )
    step = size / count
    centres = np.arange(count)[:, None] * step + step / 2 - 0.5
    # Along an axis that grows the triangle is narrower, and may contain no element.
    distances = np.abs(np.arange(size) - centres) / step
    shares = np.maximum(1 - distances, 0)
    total = shares.sum(axis=1, keepdims=True)
    if ((total < NEAR) & (distances < 1 + NEAR)).any():
        raise LayerFault(
            "has results that depended on rounding: they read elements at the very border of the "
            "filter",
            code="IRL121",
            expected="no antialias, or an image that shrinks along both axes",
            found=f"{size} elements that become {count}",
        )
    weights: Array = shares / np.maximum(total, 1e-30)
    return weights


class Resample(Resizing, type="Resample", inputs=(1, 2)):
    """Nearest or linear, with half pixels; `antialias` widens the filter when shrinking."""

    kind: str = attribute(default="caffe.ResampleParameter.NEAREST", name="type")
    antialias: bool = False

    def build(self, s: Steps, x: Value, *size: Value) -> Value:
        kind = self.kind.rpartition(".")[2].lower()
        if kind == "nearest":
            op = today.Interpolate(
                mode="nearest",
                coordinate_transformation_mode="half_pixel",
                nearest_mode="round_prefer_ceil",
            )
            return self._resized(s, x, op)
        if kind != "linear":
            raise LayerFault(
                "resamples in a way that the engine of 2020 accepted but did not compute",
                code="IRL121",
                expected="caffe.ResampleParameter.NEAREST or LINEAR",
                found=kind,
            )
        if self.antialias and any(a < b for a, b in zip(s.out(), s.dims(x), strict=False)):
            return self._filtered(s, x)
        op = today.Interpolate(
            mode="linear", coordinate_transformation_mode="half_pixel", antialias=False
        )
        return self._resized(s, x, op)

    def _filtered(self, s: Steps, x: Value) -> Value:
        """Shrink with a wider filter, one product with a matrix of weights for each axis.

        No operation of today has this filter in all engines.
        """
        dims, out = s.dims(x), s.out()
        if len(dims) != 4 or len(out) != 4 or out[:2] != dims[:2]:
            raise _other_sizes(dims, out)
        rows, columns = (_weights(dims[at], out[at]) for at in (2, 3))
        wide = s(matmul.MatMul(transpose_b=True), x, s.constant(columns, F32))
        return s(matmul.MatMul(), s.constant(rows, F32), wide)


class Interp(Resizing, type="Interp", inputs=(1, 2)):
    """Bilinear; corners are aligned unless `align_corners` is 0."""

    align_corners: bool = True
    pad_beg: int = 0
    pad_end: int = 0

    def build(self, s: Steps, x: Value, *size: Value) -> Value:
        if self.pad_beg or self.pad_end:
            raise LayerFault(
                "pads its input, which irloop does not convert",
                code="IRL121",
                expected="pad_beg and pad_end of 0",
                found=f"{self.pad_beg} and {self.pad_end}",
            )
        mode = "align_corners" if self.align_corners else "asymmetric"
        op = today.Interpolate(mode="linear_onnx", coordinate_transformation_mode=mode)
        return self._resized(s, x, op)
