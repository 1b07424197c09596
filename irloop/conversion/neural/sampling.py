"""Converts grid sampling.

OpenVINO has GridSample since opset9, but only for data of rank 4. In older opsets and for other
ranks, the conversion emits Gathers of the elements around each position, and sums these elements
with weights. On each axis there are two elements; in mode nearest one, and in mode cubic four.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product as all_of

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import IMPORTS, Converter, exports, imports
from irloop.dialects.onnx import sampling as onnx
from irloop.dialects.openvino import comparison, elementwise
from irloop.dialects.openvino import sampling as ov
from irloop.dialects.sampling import mode_of
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Value
from irloop.graph.types import ElementType

__all__ = ["export_grid_sample"]

_OLD_MODES = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}

#: The coefficient of Keys' cubic filter, which is the same in both formats.
CUBIC = -0.75

#: The first OpenVINO opset that has the operations for the sum of Gathers.
OLDEST = 7


@exports(ov.GridSample)
def export_grid_sample(c: Export, op: ov.GridSample, data: Value, grid: Value) -> Value:
    """Write GridSample, or before opset 16 a sum of Gathers."""
    mode, align = mode_of(op.mode), int(op.align_corners)
    padding = op.padding_mode.lower()
    if c.opset < 16:
        return _export_sampler(c, op, data, grid)
    if c.opset < 20:
        return c(onnx.GridSample16(align, padding, _OLD_MODES[mode]), data, grid)
    return c(onnx.GridSample(align, padding, mode), data, grid)


def _export_sampler(c: Export, op: ov.GridSample, data: Value, grid: Value) -> Value:
    """Export GridSample as a sum of Gathers, for ONNX opsets without GridSample.

    The sum is built in OpenVINO operations first, as the import of GridSample builds it for old
    OpenVINO opsets, and then exported.
    """
    inner = Import(Graph("GridSample"), Converter(IMPORTS, OLDEST))
    read = [inner.parameter(name, value.type) for name, value in (("data", data), ("grid", grid))]
    sampler = _Sampler(
        inner, read[0], read[1], mode_of(op.mode), op.padding_mode.lower(), op.align_corners, 2
    )
    inner.result(sampler.run(), "sampled")
    return c.convert_graph(inner.graph, [data, grid])[0]


@imports(onnx.GridSample, onnx.GridSample16)
def import_grid_sample(
    c: Import, op: onnx.GridSample | onnx.GridSample16, data: Value, grid: Value
) -> Value:
    """Write GridSample of opset9, or a sum of Gathers.

    Gathers are used below opset 9, or if `data` does not have rank 4.
    """
    mode, align = mode_of(op.mode), op.align_corners != 0
    if c.opset >= 9 and shape_of(data).rank == 4:
        return c(ov.GridSample(align, _OLD_MODES[mode], op.padding_mode), data, grid)
    rank = c.rank_of(data)
    return _Sampler(c, data, grid, mode, op.padding_mode, align, rank - 2).run()


@imports(onnx.AffineGrid)
def import_affine_grid(c: Import, op: onnx.AffineGrid, theta: Value, size: Value) -> Value:
    """Write AffineGrid as a sum of products, with one Multiply and Add for each spatial axis.

    In 2D the result is column 0 of `theta` times x, plus column 1 times y, plus column 2. x and y
    are the coordinates of the elements, from -1 to 1.
    """
    rows = shape_of(theta).dim(1)
    count = shape_of(size).count()
    axes = rows if isinstance(rows, int) else None if count is None else count - 2
    if axes is None:
        raise c.refuse("its number of axes is not known", "declare the shapes of the inputs")
    ones = list(range(1, 1 + axes))

    def column(at: int) -> Value:
        return c.unsqueeze(c.gather(theta, c.i64(at), 2), ones)

    result = column(axes)
    for axis in range(axes):
        dim = c.gather(size, c.i64(2 + axis), 0)
        places = _units(c, dim, element_of(theta), align=op.align_corners != 0)
        shape = [1] * (axes + 2)
        shape[1 + axis] = -1
        along = c.reshape(places, shape)
        result = c.add(result, c.multiply(column(axes - 1 - axis), along))
    return result


def _units(c: Import, count: Value, element: ElementType, *, align: bool) -> Value:
    """Emit the coordinates of `count` elements of an axis in the range -1..1.

    With `align`, -1 and 1 are the centres of the first and the last element, otherwise their outer
    edges.
    """
    numbers = c.convert_always(c.numbers_below(count), element)
    double = c.multiply(numbers, c.scalar(2.0, numbers))
    one = c.scalar(1.0, numbers)
    if align:
        steps = c.maximum(c.subtract(count, c.i64(1)), c.i64(1))
    else:
        steps, double = count, c.add(double, one)
    return c.subtract(c.divide(double, c.convert_always(steps, element)), one)


@dataclass(frozen=True, slots=True)
class _Sampler:
    """Builds OpenVINO's grid sampling from operations of opset7, which has no GridSample."""

    c: Import
    data: Value
    grid: Value
    mode: str
    padding: str
    align: bool
    axes: int

    def run(self) -> Value:
        c = self.c
        shape = c.shape_of(self.data)
        sizes = [c.gather(shape, c.i64(2 + axis), 0) for axis in range(self.axes)]
        rows = self._rows()
        places = c.reshape(self.grid, [0, -1, self.axes])
        corners = [self._corners(places, axis, sizes[axis]) for axis in range(self.axes)]
        first = self._first_rows(shape, sizes)
        total: list[Value] = []
        for chosen in all_of(*corners):
            index = chosen[0][0]
            for (place, _), size in zip(chosen[1:], sizes[1:], strict=True):
                index = c.add(c.multiply(index, size), place)
            weights = [weight for _, weight in chosen if weight is not None]
            total.append(self._weighted(rows, c.add(index, first), weights))
        summed = reduce(c.add, total)
        result = c.transpose(summed, [0, 2, 1])
        outer = c.gather(shape, c.i64([0, 1]), 0)
        of_grid = c.shape_of(self.grid)
        inner = c.gather(of_grid, c.i64(list(range(1, 1 + self.axes))), 0)
        wanted = c.concat([outer, inner], 0)
        return c.reshape_to(result, wanted, special_zero=False)

    def _rows(self) -> Value:
        """Reshape the data to a table [N * positions, C]: one row of channels for each position.

        The positions of all N batch items are listed one item after the other. A Gather with
        batch_dims would need no such table, but the CPU plugin of 2026.4 computes it wrongly or
        crashes if the data have few elements.
        """
        c, rank = self.c, 2 + self.axes
        last = c.moved(self.data, 1, rank - 1, rank)
        channels = c.sizes_of(self.data, [1])
        pattern = c.concat([c.i64([-1]), channels], 0)
        return c.reshape_to(last, pattern, special_zero=False)

    def _first_rows(self, shape: Value, sizes: list[Value]) -> Value:
        """Emit the index [N, 1] at which each batch item starts in the table of `_rows`.

        The table lists the positions of all items, one item after the other. An item has as many
        rows as the product of `sizes`, its spatial sizes. `shape` is the shape of the data.
        """
        c = self.c
        count = reduce(c.multiply, sizes)
        items = c.gather(shape, c.i64(0), 0)
        numbers = c.numbers_below(items)
        return c.unsqueeze(c.multiply(numbers, count), [1])

    def _weighted(self, rows: Value, index: Value, weights: list[Value]) -> Value:
        """Gather the rows at `index` [N, K] and multiply them by all `weights` [N, K].

        `rows` is [count, C], and the result is [N, K, C]. If `weights` is empty, the rows are not
        multiplied.
        """
        c = self.c
        values = c.gather(rows, index, 0)
        if not weights:
            return values
        weight = reduce(c.multiply, weights)
        return c.multiply(values, c.unsqueeze(weight, [2]))

    def _number(self, value: float) -> Value:
        return self.c.scalar(value, self.grid)

    def _corners(self, places: Value, axis: int, size: Value) -> list[tuple[Value, Value | None]]:
        """Emit indices (i64) and weights of the elements around each sample on one axis.

        There are two elements for each sample, four in mode cubic, and one without a weight (None)
        in mode nearest. Each index and each weight has the shape [N, P].
        """
        c = self.c
        unit = c.gather(places, c.i64(self.axes - 1 - axis), 2)
        count = c.convert_always(size, element_of(self.grid))
        last = c.subtract(count, self._number(1.0))
        half = self._number(0.5)
        moved = c.add(unit, self._number(1.0))
        if self.align:
            place = c.multiply(c.multiply(moved, half), last)
        else:
            scaled = c.multiply(moved, count)
            place = c.multiply(c.subtract(scaled, self._number(1.0)), half)
        if self.mode == "nearest":
            place = c(elementwise.Round(mode="half_to_even"), place)
        if self.mode != "cubic" or self.padding == "reflection":
            place = self._bounded(place, last)
        if self.mode == "nearest":
            return [self._element(place, last, None)]
        first = c(elementwise.Floor(), place)
        fraction = c.subtract(place, first)
        if self.mode == "linear":
            rest = c.subtract(self._number(1.0), fraction)
            start, weights = 0, [rest, fraction]
        else:
            start, weights = -1, self._cubic(fraction)
        return [
            self._element(c.add(first, self._number(float(offset))), last, weight)
            for offset, weight in enumerate(weights, start=start)
        ]

    def _cubic(self, t: Value) -> list[Value]:
        c = self.c

        def polynomial(x: Value, *factors: float) -> Value:
            result = self._number(factors[0])
            for factor in factors[1:]:
                result = c.add(c.multiply(result, x), self._number(factor))
            return result

        rest = c.subtract(self._number(1.0), t)
        near = (CUBIC + 2, -(CUBIC + 3), 0.0, 1.0)
        far = (CUBIC, -5 * CUBIC, 8 * CUBIC, -4 * CUBIC)
        one = self._number(1.0)
        return [
            polynomial(c.add(t, one), *far),
            polynomial(t, *near),
            polynomial(rest, *near),
            polynomial(c.add(rest, one), *far),
        ]

    def _bounded(self, place: Value, last: Value) -> Value:
        if self.padding == "border":
            low = self.c.maximum(place, self._number(0.0))
            return self.c.minimum(low, last)
        return self._reflected(place, last) if self.padding == "reflection" else place

    def _reflected(self, place: Value, last: Value) -> Value:
        """Reflect positions outside the data at the borders of the data.

        The borders are 0 and `last` if corners are aligned, otherwise -0.5 and `last` + 0.5.
        """
        c = self.c
        low = self._number(0.0 if self.align else -0.5)
        span = last if self.align else c.add(last, self._number(1.0))
        # With aligned corners, a single element spans no distance, and all positions are reflected
        # to it.
        double = c.maximum(c.multiply(span, self._number(2.0)), self._number(1e-6))
        distance = c(elementwise.FloorMod(), c.subtract(place, low), double)
        mirrored = c.minimum(distance, c.subtract(double, distance))
        return c.add(mirrored, low)

    def _element(
        self, place: Value, last: Value, weight: Value | None
    ) -> tuple[Value, Value | None]:
        """Return the index of the element at a position on one axis, and its weight.

        `place` holds integral positions as floats; `last` is the largest index on the axis. A
        position outside of the axis is first moved into it: to its mirror image if the padding is
        reflection (except in mode nearest), else to the nearest end.

        The returned weight is `weight`; None means a weight of 1. With zero padding, the result is
        never None, and positions outside of the axis get the weight 0.
        """
        c = self.c
        if self.padding == "reflection" and self.mode != "nearest":
            place = self._reflected(place, last)
        inside = c.minimum(c.maximum(place, self._number(0.0)), last)
        index = c.convert_always(inside, ElementType.I64)
        if self.padding == "reflection":
            rounded = c(elementwise.Round(mode="half_to_even"), inside)
            index = c.convert_always(rounded, ElementType.I64)
        if self.padding != "zeros":
            return index, weight
        same = c(comparison.Equal(), inside, place)
        share = c.convert_always(same, element_of(self.grid))
        return index, share if weight is None else c.multiply(weight, share)
