"""Samples regions in ONNX: gathers and weights the four elements around each sampled position.

Tensors of samples have the shape [R, bins y, samples y, bins x, samples x], for R regions and the
samples of each bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irloop.conversion.detection.scores import at_least, places
from irloop.conversion.framework.directions import Export
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.writing.sizes import Size, Sizes
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

    def read(self, c: Export, y: Value, x: Value, margin: float) -> tuple[Value, Value]:
        """Return the interpolated values at the positions y and x, and a mask.

        `y` and `x` broadcast. For positions more than `margin` outside the map, the value and the
        mask are 0; for all others, the mask is 1.
        """
        inside = c(
            comparison.And(),
            _inside(c, y, self.height, margin),
            _inside(c, x, self.width, margin),
        )
        share = c.convert(inside, F32)
        rows, columns = _corners(c, y, self.height), _corners(c, x, self.width)
        total: Value | None = None
        for row, down in rows:
            start = c.add(c.multiply(row, integer(c, self.width)), self.first)
            for column, along in columns:
                weight = c.multiply(c.multiply(down, along), share)
                corner = c.gather(self.table, c.add(start, column), 0)
                if shape_of(self.table).rank == 2:
                    weight = c.unsqueeze(weight, [-1])
                part = c.multiply(corner, weight)
                total = part if total is None else c.add(total, part)
        assert total is not None, "there is at least one corner"
        return total, share


def integer(c: Export, size: Size) -> Value:
    """Return a size as an i64 value: a Python int becomes a constant, a value is not changed."""
    return c.i64(size) if isinstance(size, int) else size


def _number(c: Export, size: Size) -> Value:
    return c.constant(float(size), F32) if isinstance(size, int) else c.convert(size, F32)


def _inside(c: Export, place: Value, size: Size, margin: float) -> Value:
    """Return a boolean for each position: whether it is at most `margin` outside the data.

    Positions count as inside from `-margin` to the last index plus `margin`.
    """
    last = c.add(_number(c, size), c.constant(margin - 1.0, F32))
    low = at_least(c, place, c.constant(-margin, F32))
    return c(comparison.And(), low, at_least(c, last, place))


def _corners(c: Export, place: Value, size: Size) -> list[tuple[Value, Value]]:
    """Return the indices and weights of the two elements around each position along an axis.

    `place` holds the positions, clamped to the range 0 ... `size` - 1. For position 2.25, the
    elements are 2 and 3 with the weights 0.75 and 0.25. The result has a pair (indices, weights)
    for the lower elements, then a pair for the higher ones.
    """
    last = c.subtract(_number(c, size), c.constant(1.0, F32))
    bounded = c.minimum(c.maximum(place, c.constant(0.0, F32)), last)
    low = c(elementwise.Floor(), bounded)
    share = c.subtract(bounded, low)
    high = c.minimum(c.add(low, c.constant(1.0, F32)), last)
    rest = c.subtract(c.constant(1.0, F32), share)
    return [(c.convert(low, I64), rest), (c.convert(high, I64), share)]


def maps_of(c: Export, data: Value, items: Value) -> Maps:
    """Prepare the feature maps `data` [N, C, H, W] for sampling them in R regions.

    `items` [R] is the batch index of each region. The maps become a table [N * H * W, C]: one row
    per pixel, with all its channels.
    """
    if c.opset < 11:
        raise c.refuse("its samples need Range, which ONNX has since opset 11", opset=11)
    sizes = Sizes(c)
    _, channels, height, width = sizes.of(data, 4)
    by_place = c.transpose(c.convert(data, F32), [0, 2, 3, 1])
    table = c.reshape_to(by_place, sizes.list([-1, channels]))
    own = c.reshape(c.as_i64(items), [-1, 1, 1, 1, 1])
    return Maps(table, c.multiply(own, integer(c, sizes.times(height, width))), height, width)


def number_of(c: Export, rois: Value, at: int) -> Value:
    """The column `at` of the regions, as f32 [R, 1, 1, 1, 1]."""
    own = c.gather(c.convert(rois, F32), c.i64(at), 1)
    return c.reshape(own, [-1, 1, 1, 1, 1])


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
    c: Export, length: Value, bins: int, ratio: int, axes: Sequence[int], least: float
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
        count = c(elementwise.Ceil(), c.divide(length, c.constant(float(bins), F32)))
        count = c.maximum(count, c.constant(least, F32))
        whole = c.concat([c.reshape(count, [-1]), c.constant([1.0], F32)], 0)
        most = c.convert(c.reduce("Max", whole, [0]), I64)
    index, sample = (
        c.reshape(places(c, size, F32), [-1 if at == axis else 1 for at in range(5)])
        for size, axis in zip((bins, most), axes, strict=True)
    )
    place = c.add(c.add(c.multiply(index, count), sample), c.constant(0.5, F32))
    total = c.multiply(count, c.constant(float(bins), F32))
    total = c.maximum(total, c.constant(1.0, F32))
    share = c.subtract(c.divide(place, total), c.constant(0.5, F32))
    return Side(c.multiply(share, length), count, c.less(sample, count))
