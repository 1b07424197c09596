"""Writes Resize in OpenVINO operations if its sizes, scales or region are computed at run time.

The operations compute the same as `kernels.resize`, one axis after the other: along an axis, an
output element is a weighted sum of a few input elements, which are read by a single Gather.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irloop.conversion.framework.directions import Import
from irloop.dialects.openvino import comparison, elementwise
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.kernels.resize import Resampling

__all__ = ["Request", "resized"]

F32 = ElementType.F32


@dataclass(frozen=True, slots=True)
class Request:
    """The axes that a Resize changes, and their new sizes or their scales.

    Either `scales` or `sizes` is given; the other is None. `policy` is the attribute
    keep_aspect_ratio_policy. `region` is the input roi in the mode tf_crop_and_resize, else None.
    """

    axes: Sequence[int]
    scales: Value | None
    sizes: Value | None
    policy: str
    region: Value | None


def resized(c: Import, how: Resampling, data: Value, request: Request) -> Value:
    """Resize `data` along one axis after the other.

    Raises:
        RefusedError: for tf_half_pixel_for_nn, which would change axes that keep their size.
    """
    if how.coordinates == "tf_half_pixel_for_nn":
        raise c.refuse(
            f"mode {how.mode} with {how.coordinates} needs known sizes",
            "give the input a static shape and constant sizes",
        )
    weighted = how.mode != "nearest"
    result = c.convert(data, F32) if weighted else data
    for plan in _plans(c, how, data, request):
        result = plan.applied(how, result)
    return c.convert(result, element_of(data))


def _plans(c: Import, how: Resampling, data: Value, request: Request) -> list[_Axis]:
    sizes = [c.size_of(data, axis) for axis in request.axes]
    whole = c.concat([c.reshape(size, [1]) for size in sizes], 0)
    inner = c.convert_always(whole, F32)
    if request.sizes is None:
        if request.scales is None:
            raise c.refuse("it has neither scales nor sizes")
        factors = c.convert(request.scales, F32)
        lengths = c.multiply(inner, factors)
        counts = c.convert_always(c(elementwise.Floor(), lengths), ElementType.I64)
        if not how.is_fractional:
            lengths = c.convert_always(counts, F32)
    else:
        wanted = c.convert(request.sizes, ElementType.I64)
        factors = c.divide(c.convert_always(wanted, F32), inner)
        counts = wanted
        if request.policy != "stretch":
            kind = "Min" if request.policy == "not_larger" else "Max"
            factors = c.tile(c.reduce(kind, factors, [0]), c.i64([len(sizes)]))
            half = c.constant(0.5, F32)
            rounded = c(elementwise.Floor(), c.add(c.multiply(factors, inner), half))
            counts = c.convert_always(rounded, ElementType.I64)
        lengths = c.convert_always(counts, F32)

    def item(values: Value, at: int) -> Value:
        return c.gather(values, c.i64(at), 0)

    region = None if request.region is None else c.convert(request.region, F32)
    many = len(request.axes)
    return [
        _Axis(
            c,
            axis,
            item(inner, at),
            item(counts, at),
            item(factors, at),
            item(lengths, at),
            None if region is None else (item(region, at), item(region, many + at)),
        )
        for at, axis in enumerate(request.axes)
    ]


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis that is resized; the sizes and the factor are computed when the model runs.

    `size`, `scale` and `length` are f32 scalars: the old size, the factor, and the new size, which
    is not an integer if `Resampling.is_fractional`. `count` is the new size as an i64 scalar.
    """

    c: Import
    axis: int
    size: Value
    count: Value
    scale: Value
    length: Value
    region: tuple[Value, Value] | None

    def applied(self, how: Resampling, data: Value) -> Value:
        """Resize `data` along this axis."""
        c = self.c
        place = self._places(how.coordinates)
        if how.mode == "nearest":
            index = self._inside(self._rounded(place, how.nearest))
            result = c.gather(data, c.convert_always(index, ElementType.I64), self.axis)
        else:
            result = self._weighted(how, place, data)
        if how.coordinates != "tf_crop_and_resize":
            return result
        low, high = c.less(place, self._number(0)), c.less(self._last(), place)
        beyond = self._along(c(comparison.LogicalOr(), low, high), result, 0)
        return c.select(beyond, c.scalar(how.extrapolation, result), result)

    def _weighted(self, how: Resampling, place: Value, data: Value) -> Value:
        """Compute each element of the result as the weighted sum of the elements around `place`."""
        c = self.c
        index, weights = self._taps(how, c.unsqueeze(place, [1]))
        within = self._inside(index)
        if how.exclude_outside:
            kept = c.convert_always(c.equal(within, index), F32)
            weights = c.multiply(weights, kept)
        if how.exclude_outside or how.antialias:
            total = c.reduce("Sum", weights, [1])
            none = c.equal(total, self._number(0))
            weights = c.divide(weights, c.select(none, self._number(1), total))
        read = c.gather(data, c.convert_always(within, ElementType.I64), self.axis)
        products = c.multiply(read, self._along(weights, data, 1))
        return c.reduce("Sum", products, [self.axis + 1], keep=False)

    def _taps(self, how: Resampling, place: Value) -> tuple[Value, Value]:
        """The indices and the weights [count, taps] of the elements around each position.

        With antialiasing, the filter is widened if the axis shrinks.
        """
        c = self.c
        linear = how.mode == "linear"
        reach = 1 if linear else 2
        first = c.subtract(c(elementwise.Ceiling(), place), self._number(1))
        if not how.antialias:
            offsets = c.constant([list(range(1 - reach, 1 + reach))], F32)
            narrow = self._number(1)
        else:
            narrow = c.minimum(self.scale, self._number(1))
            wide = c(elementwise.Ceiling(), c.divide(self._number(reach), narrow))
            low = c.convert_always(c.subtract(self._number(1), wide), ElementType.I64)
            high = c.subtract(c.i64(2), low)
            numbers = c.convert_always(c.range(low, high, c.i64(1)), F32)
            offsets = c.unsqueeze(numbers, [0])
        index = c.add(first, offsets)
        distance = c.multiply(c.subtract(index, place), narrow)
        far = c(elementwise.Abs(), distance)
        if linear:
            rest = c.subtract(self._number(1), far)
            return index, c.maximum(rest, self._number(0))
        return index, self._cubic(far, how.cubic)

    def _cubic(self, x: Value, a: float) -> Value:
        """The weights of Keys' cubic filter with the coefficient `a` at the distances `x`."""
        c = self.c

        def polynomial(*factors: float) -> Value:
            result = self._number(factors[0])
            for factor in factors[1:]:
                result = c.add(c.multiply(result, x), self._number(factor))
            return result

        near, far = polynomial(a + 2, -(a + 3), 0, 1), polynomial(a, -5 * a, 8 * a, -4 * a)
        outer = c.select(c.less(x, self._number(2)), far, self._number(0))
        return c.select(c(comparison.LessEqual(), x, self._number(1)), near, outer)

    def _places(self, coordinates: str) -> Value:
        """Emit the position (f32) on the input axis from which each output element is computed.

        `coordinates` is the coordinate_transformation_mode of the Resize.
        """
        c, half = self.c, self._number(0.5)
        out = c.convert_always(c.numbers_below(self.count), F32)
        if coordinates == "asymmetric":
            return c.divide(out, self.scale)
        if coordinates == "align_corners":
            return self._steps(self._last(), out, self._number(0))
        if coordinates == "tf_crop_and_resize":
            return self._in_region(out)
        centre = c.divide(c.add(out, half), self.scale)
        place = c.subtract(centre, half)
        if coordinates == "half_pixel_symmetric":
            count = c.convert_always(self.count, F32)
            exact = c.multiply(self.scale, self.size)
            missing = c.subtract(self._number(1), c.divide(count, exact))
            offset = c.multiply(c.multiply(self.size, half), missing)
            return c.add(offset, place)
        if coordinates == "pytorch_half_pixel":
            many = c.less(c.i64(1), self.count)
            return c.select(many, place, self._number(0))
        return place

    def _in_region(self, out: Value) -> Value:
        c, last = self.c, self._last()
        assert self.region is not None, "tf_crop_and_resize always has a region"
        first, end = self.region
        middle = c.multiply(c.multiply(c.add(first, end), last), self._half())
        way = c.multiply(c.subtract(end, first), last)
        start = c.multiply(first, last)
        alone = c.subtract(middle, start)
        return c.add(start, self._steps(way, out, alone))

    def _steps(self, way: Value, out: Value, alone: Value) -> Value:
        """Emit evenly spaced positions on the input axis, from 0 to `way`.

        `out` holds the indices of the output elements. Index i gets the position i * way / (length
        - 1), where length is the new size of the axis. If that is 1, the position is `alone`.
        """
        c = self.c
        last = c.subtract(self.length, self._number(1))
        is_single = c.equal(last, self._number(0))
        # A length of 1 would divide by 0, although the quotient is not selected then.
        divisor = c.select(is_single, self._number(1), last)
        place = c.divide(c.multiply(out, way), divisor)
        return c.select(is_single, alone, place)

    def _rounded(self, place: Value, rounding: str) -> Value:
        c = self.c
        if rounding == "simple":
            shrinks = c.less(self.scale, self._number(1))
            return c.select(shrinks, c(elementwise.Ceiling(), place), c(elementwise.Floor(), place))
        if rounding == "floor":
            return c(elementwise.Floor(), place)
        if rounding == "ceil":
            return c(elementwise.Ceiling(), place)
        if rounding == "round_prefer_ceil":
            return c(elementwise.Floor(), c.add(place, self._half()))
        return c(elementwise.Ceiling(), c.subtract(place, self._half()))

    def _inside(self, index: Value) -> Value:
        low = self.c.maximum(index, self._number(0))
        return self.c.minimum(low, self._last())

    def _last(self) -> Value:
        return self.c.subtract(self.size, self._number(1))

    def _half(self) -> Value:
        return self._number(0.5)

    def _number(self, number: float) -> Value:
        return self.c.constant(number, F32)

    def _along(self, values: Value, data: Value, more: int) -> Value:
        """Append axes of size 1 to `values`, so that they line up with this axis of `data`.

        One axis is appended for each axis of `data` after this one. `values` begins with this axis;
        `more` other axes follow, such as one for the taps of a filter.
        """
        behind = needed_rank(self.c, data) - 1 - self.axis
        if not behind:
            return values
        return self.c.unsqueeze(values, [1 + more + at for at in range(behind)])
