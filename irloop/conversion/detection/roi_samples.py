"""Samples regions in ONNX: gathers and weights the four elements around each sampled position.

Tensors of samples have the shape [R, bins y, samples y, bins x, samples x], for R regions and the
samples of each bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms.scores import at_least, places
from irloop.conversion.forms.sizes import OnnxSizes, Size
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx import comparison, elementwise
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["Maps", "Side", "integer", "maps_of", "number_of", "side"]

F32, I64 = ElementType.F32, ElementType.I64


@dataclass(frozen=True, slots=True)
class Maps:
    """Feature maps as a table, from which samples at given positions are read.

    `table` is [P, C], with one row per pixel, or [P], with one row per pixel and channel. `first`
    holds, for each sample, the row at which its map starts. `height` and `width` are the size of a
    map.
    """

    table: Value
    first: Value
    height: Size
    width: Size

    def read(self, c: Conversion, y: Value, x: Value, margin: float) -> tuple[Value, Value]:
        """Return the interpolated values at the positions y and x, and a mask.

        `y` and `x` broadcast. For positions more than `margin` outside the map, the value and the
        mask are 0; for all others, the mask is 1.
        """
        inside = c(
            comparison.And(),
            _inside(c, y, self.height, margin),
            _inside(c, x, self.width, margin),
        )
        share = forms.convert(c, inside, F32)
        rows, columns = _corners(c, y, self.height), _corners(c, x, self.width)
        total: Value | None = None
        for row, down in rows:
            start = forms.add(c, forms.multiply(c, row, integer(c, self.width)), self.first)
            for column, along in columns:
                weight = forms.multiply(c, forms.multiply(c, down, along), share)
                found = forms.gather(c, self.table, forms.add(c, start, column), 0)
                if shape_of(self.table).rank == 2:
                    weight = forms.unsqueeze(c, weight, [-1])
                part = forms.multiply(c, found, weight)
                total = part if total is None else forms.add(c, total, part)
        assert total is not None, "there is at least one corner"
        return total, share


def integer(c: Conversion, size: Size) -> Value:
    """Return a size as an i64 value: a Python int becomes a constant, a value is not changed."""
    return c.i64(size) if isinstance(size, int) else size


def _number(c: Conversion, size: Size) -> Value:
    return c.constant(float(size), F32) if isinstance(size, int) else forms.convert(c, size, F32)


def _inside(c: Conversion, place: Value, size: Size, margin: float) -> Value:
    """Return a boolean for each position: whether it is at most `margin` outside the data.

    Positions count as inside from `-margin` to the last index plus `margin`.
    """
    last = forms.add(c, _number(c, size), c.constant(margin - 1.0, F32))
    low = at_least(c, place, c.constant(-margin, F32))
    return c(comparison.And(), low, at_least(c, last, place))


def _corners(c: Conversion, place: Value, size: Size) -> list[tuple[Value, Value]]:
    """Return the indices and weights of the two elements around each position along an axis.

    `place` holds the positions, clamped to the range 0 ... `size` - 1. For position 2.25, the
    elements are 2 and 3 with the weights 0.75 and 0.25. The result has a pair (indices, weights)
    for the lower elements, then a pair for the higher ones.
    """
    last = forms.subtract(c, _number(c, size), c.constant(1.0, F32))
    bounded = forms.minimum(c, forms.maximum(c, place, c.constant(0.0, F32)), last)
    low = c(elementwise.Floor(), bounded)
    share = forms.subtract(c, bounded, low)
    high = forms.minimum(c, forms.add(c, low, c.constant(1.0, F32)), last)
    rest = forms.subtract(c, c.constant(1.0, F32), share)
    return [(forms.convert(c, low, I64), rest), (forms.convert(c, high, I64), share)]


def maps_of(c: Conversion, data: Value, items: Value) -> Maps:
    """Prepare the feature maps `data` [N, C, H, W] for sampling them in R regions.

    `items` [R] is the batch index of each region. The maps become a table [N * H * W, C]: one row
    per pixel, with all its channels.
    """
    if c.opset < 11:
        raise c.refuse("its samples need Range, which ONNX has since opset 11", opset=11)
    sizes = OnnxSizes(c)
    _, channels, height, width = sizes.of(data, 4)
    by_place = forms.transpose(c, forms.convert(c, data, F32), [0, 2, 3, 1])
    table = forms.reshape_to(c, by_place, sizes.list([-1, channels]))
    own = forms.reshape(c, forms.as_i64(c, items), [-1, 1, 1, 1, 1])
    return Maps(
        table, forms.multiply(c, own, integer(c, sizes.times(height, width))), height, width
    )


def number_of(c: Conversion, rois: Value, at: int) -> Value:
    """The column `at` of the regions, as f32 [R, 1, 1, 1, 1]."""
    own = forms.gather(c, forms.convert(c, rois, F32), c.i64(at), 1)
    return forms.reshape(c, own, [-1, 1, 1, 1, 1])


@dataclass(frozen=True, slots=True)
class Side:
    """The positions of the samples along one side (the height or the width) of each region.

    `place` is the distance of each sample from the middle of the region. `count` is the number of
    samples per bin. It may differ between regions, but the arrays have room for the largest number
    in all regions. `own` is true for the entries that are samples, and false for the unused ones.
    """

    place: Value
    count: Value
    own: Value


def side(
    c: Conversion, length: Value, bins: int, ratio: int, axes: Sequence[int], least: float
) -> Side:
    """Place the samples along one side (the height or the width) of each region.

    `length` [R, 1, 1, 1, 1] holds the length of that side in each region. The side is split into
    `bins` bins of `ratio` samples each. If `ratio` is 0, a bin gets about one sample per cell of
    the feature map, and at least `least`.

    Samples are arrays of five axes; `axes` names two of them: the axis of the bins and the axis of
    the samples within a bin.
    """
    if ratio > 0:
        count = c.constant([[[[[float(ratio)]]]]], F32)
        most: Size = ratio
    else:
        count = c(elementwise.Ceil(), forms.divide(c, length, c.constant(float(bins), F32)))
        count = forms.maximum(c, count, c.constant(least, F32))
        whole = forms.concat(c, [forms.reshape(c, count, [-1]), c.constant([1.0], F32)], 0)
        most = forms.convert(c, forms.reduce(c, "Max", whole, [0]), I64)
    index, sample = (
        forms.reshape(c, places(c, size, F32), [-1 if at == axis else 1 for at in range(5)])
        for size, axis in zip((bins, most), axes, strict=True)
    )
    place = forms.add(
        c, forms.add(c, forms.multiply(c, index, count), sample), c.constant(0.5, F32)
    )
    total = forms.multiply(c, count, c.constant(float(bins), F32))
    total = forms.maximum(c, total, c.constant(1.0, F32))
    share = forms.subtract(c, forms.divide(c, place, total), c.constant(0.5, F32))
    return Side(forms.multiply(c, share, length), count, forms.less(c, sample, count))
