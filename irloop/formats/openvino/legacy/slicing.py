"""Layers of versions 2 to 7 that join and cut."""

from __future__ import annotations

from typing import ClassVar, Literal

from irloop.dialects.openvino import padding
from irloop.dialects.openvino import slicing as today
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer, axis_of
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute


class Concat(LegacyLayer, type="Concat", inputs=(1, None)):
    """Joins the inputs along an axis."""

    axis: int = 1
    is_real: ClassVar[bool] = False

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2:
        first = inputs[0]
        axis = axis_of(self.axis, first)
        for dims in inputs:
            rest = [pair for at, pair in enumerate(zip(dims, first, strict=False)) if at != axis]
            if len(dims) != len(first) or any(a != b for a, b in rest):
                raise LayerFault(
                    "joins inputs of sizes that do not fit",
                    expected=f"sizes that differ in axis {axis} only",
                    found=" and ".join(str(list(each)) for each in inputs[:8]),
                )
        total = sum(dims[axis] for dims in inputs)
        return [(*first[:axis], total, *first[axis + 1 :])]

    def build(self, s: Steps, *values: Value) -> Value:
        element = s.outputs[0].element
        parts = [s.convert(value, element) for value in values]
        return s.concat(parts, s.axis(self.axis, values[0]))


class Split(LegacyLayer, type="Split", inputs=1, outputs=None):
    """Cuts the input along an axis; the declared outputs give the sizes."""

    axis: int = 1
    is_real: ClassVar[bool] = False

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        dims = inputs[0]
        axis = axis_of(self.axis, dims)
        lengths = [out[axis] for out in outputs if len(out) == len(dims)]
        if len(lengths) < len(outputs) or sum(lengths) != dims[axis]:
            raise LayerFault(
                "declares outputs that do not add up to its input",
                code="IRL401",
                expected=f"{dims[axis]} along axis {axis}",
                found=str([list(out) for out in outputs[:8]]),
            )
        return [(*dims[:axis], length, *dims[axis + 1 :]) for length in lengths]

    def build(self, s: Steps, x: Value) -> tuple[Value, ...]:
        axis = s.axis(self.axis, x)
        outs = [s.out(at) for at in range(len(s.outputs))]
        self.sizes([s.dims(x)], outs)
        if len(outs) == 1:
            return (x,)
        return tuple(s.variadic_split(x, axis, [out[axis] for out in outs]))


class Slice(Split, type="Slice", inputs=1, outputs=None):
    """Another name of Split."""


class VariadicSplit(LegacyLayer, type="VariadicSplit", inputs=(1, 3), outputs=None):
    """Cuts the input along an axis, which the second input may give."""

    axis: int = 1
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, *given: Value) -> tuple[Value, ...]:
        known = s.numbers(given[0]) if given else None
        return Split(known[0] if known else self.axis).build(s, x)


class Crop(LegacyLayer, type="Crop", inputs=(1, 2)):
    """A part of the input: `offset` with `dim`, `crop_begin` with `crop_end`, or the sizes of the
    second input.
    """

    axes: tuple[int, ...] = attribute(default=(), name="axis")
    offset: tuple[int, ...] = attribute(default=(), least=0)
    dim: tuple[int, ...] = attribute(default=(), least=0)
    crop_begin: tuple[int, ...] = attribute(default=(), least=0)
    crop_end: tuple[int, ...] = attribute(default=(), least=0)
    is_real: ClassVar[bool] = False

    def _bounds(self, inputs: Dims2) -> tuple[Dims, Dims]:
        dims = inputs[0]
        begins, ends = [0] * len(dims), list(dims)
        starts = self.offset or self.crop_begin
        for index, given in enumerate(self.axes):
            axis = axis_of(given, dims)
            begins[axis] = starts[index] if index < len(starts) else 0
            if index < len(self.dim):
                ends[axis] = begins[axis] + self.dim[index]
            elif len(inputs) > 1 and axis < len(inputs[1]):
                ends[axis] = begins[axis] + inputs[1][axis]
            elif index < len(self.crop_end):
                ends[axis] = dims[axis] - self.crop_end[index]
            if not 0 <= begins[axis] <= ends[axis] <= dims[axis]:
                raise LayerFault(
                    f"cuts outside of axis {axis}",
                    code="IRL405",
                    expected=f"a part of 0 to {dims[axis]}",
                    found=f"{begins[axis]} to {ends[axis]}",
                )
        return tuple(begins), tuple(ends)

    def build(self, s: Steps, x: Value, *like: Value) -> Value:
        begins, ends = self._bounds([s.dims(value) for value in (x, *like)])
        return s.cut(x, begins, ends)


class StridedSlice(LegacyLayer, type="StridedSlice", inputs=(3, 4)):
    """The elements from a begin to an end in steps; a mask of 0 ignores a begin or an end."""

    begin_mask: tuple[int, ...] = ()
    end_mask: tuple[int, ...] = ()
    new_axis_mask: tuple[int, ...] = ()
    shrink_axis_mask: tuple[int, ...] = ()
    ellipsis_mask: tuple[int, ...] = ()
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, begin: Value, end: Value, *strides: Value) -> Value:
        count = s.dims(begin)[0] if s.dims(begin) else 1
        op = today.StridedSlice(
            # In these masks 1 means that the number counts; today it means that it is ignored.
            begin_mask=_turned(self.begin_mask, count),
            end_mask=_turned(self.end_mask, count),
            new_axis_mask=_marks(self.new_axis_mask, count),
            shrink_axis_mask=_marks(self.shrink_axis_mask, count),
            ellipsis_mask=_marks(self.ellipsis_mask, count),
        )
        bounds = [s.whole(value) for value in (begin, end, *strides)]
        return s(op, x, *bounds)


def _turned(mask: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The mask of today; entries that are missing mean that the number counts."""
    whole = (*mask, *[1] * max(count - len(mask), 0))
    return tuple(int(not item) for item in whole)


def _marks(mask: tuple[int, ...], count: int) -> tuple[int, ...]:
    whole = (*mask, *[0] * max(count - len(mask), 0))
    return tuple(int(bool(item)) for item in whole)


class Pad(LegacyLayer, type="Pad", inputs=1):
    """Adds elements around the input."""

    pads_begin: tuple[int, ...] = attribute(default=(), least=0)
    pads_end: tuple[int, ...] = attribute(default=(), least=0)
    pad_mode: Literal["constant", "edge", "reflect", "symmetric"] = attribute(default="constant")
    pad_value: float = 0.0

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2:
        dims = inputs[0]
        if not len(self.pads_begin) == len(self.pads_end) == len(dims):
            raise LayerFault(
                "has pads for another number of axes",
                code="IRL405",
                expected=f"{len(dims)} numbers",
                found=f"{list(self.pads_begin)} and {list(self.pads_end)}",
            )
        return [tuple(map(sum, zip(dims, self.pads_begin, self.pads_end, strict=True)))]

    def build(self, s: Steps, x: Value) -> Value:
        if self.pad_mode == "constant":
            return s.padded(x, self.pads_begin, self.pads_end, self.pad_value)
        begins, ends = s.i64(list(self.pads_begin)), s.i64(list(self.pads_end))
        return s(padding.Pad(self.pad_mode), x, begins, ends)
