"""Layers of versions 2 to 7 that choose and search elements."""

from __future__ import annotations

from typing import ClassVar, Literal

from irloop.dialects.openvino import (
    comparison,
    elementwise,
    generate,
    reorder,
    scatter,
    search,
    shape,
)
from irloop.dialects.openvino import gather as today
from irloop.formats.openvino.legacy.base import (
    LayerFault,
    LegacyLayer,
    axis_of,
    other_rank,
    product,
)
from irloop.formats.openvino.legacy.steps import I32, I64, Steps
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import attribute
from irloop.graph.types import ElementType


class Gather(LegacyLayer, type="Gather", inputs=2):
    """The elements at indices along an axis; zeros for an index out of range."""

    axis: int = 0
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, indices: Value) -> Value:
        axis = s.axis(self.axis, x)
        size = s.dims(x)[axis]
        integers = s.convert(indices, I32)
        known = s.numbers(integers)
        if known is not None and all(0 <= index < size for index in known):
            return s(today.Gather(), x, integers, s.i64(axis))
        if size == 0:
            raise LayerFault("gathers from an axis of size 0", code="IRL405")
        zero, last = s.constant(0, I32), s.constant(size - 1, I32)
        inside = s(elementwise.Minimum(), s(elementwise.Maximum(), integers, zero), last)
        made = s(today.Gather(), x, inside, s.i64(axis))
        dims = (*s.dims(integers), *[1] * (s.rank(x) - axis - 1))
        fits = s.shaped(s(comparison.Equal(), integers, inside), dims)
        return s.select(fits, made, s.constant(0, element_of(made)))


class GatherTree(LegacyLayer, type="GatherTree", inputs=4):
    """The beams of a beam search from their last step back."""

    def build(self, s: Steps, *values: Value) -> Value:
        steps, parents, most, end = values
        return s(
            today.GatherTree(), steps, parents, s.shaped(most, (s.dims(most)[-1:])), _one(s, end)
        )


class TopK(LegacyLayer, type="TopK", inputs=2, outputs=2):
    """The largest or the smallest elements along an axis, and their indices."""

    axis: int = -1
    mode: Literal["max", "min"] = attribute(default="max")
    sort: Literal["index", "value", "none"] = attribute(default="index")
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, k: Value) -> tuple[Value, ...]:
        axis = s.axis(self.axis, x)
        # The engine of then sorted by index, too, if it need not sort.
        op = search.TopK3(axis, self.mode, "value" if self.sort == "value" else "index")
        if s.rank(x) != len(s.out()):
            raise other_rank(s.dims(x), s.out())
        return s.emit(op, s.real(x), s.i64(s.out()[axis])).outputs


class ArgMax(LegacyLayer, type="ArgMax", inputs=1):
    """The indices of the largest elements, or their values with `out_max_val`.

    Without an axis all elements of one batch element are compared, and with `out_max_val` the
    output has the indices and then the values.
    """

    axis: int | None = None
    top_k: int = attribute(default=1, least=1)
    out_max_val: bool = False

    def build(self, s: Steps, x: Value) -> Value:
        if self.axis is not None:
            return self._found(s, x, s.axis(self.axis, x))
        dims = s.dims(x)
        flat = s.shaped(x, (dims[0], product(dims[1:])))
        values, indices = self._largest(s, flat, 1)
        indices = s.real(indices)
        if not self.out_max_val:
            return s.shaped(indices, s.out())
        shape = (dims[0], 1, self.top_k)
        return s.shaped(s.concat([s.shaped(indices, shape), s.shaped(values, shape)], 1), s.out())

    def _largest(self, s: Steps, x: Value, axis: int) -> tuple[Value, ...]:
        if self.top_k > s.dims(x)[axis]:
            raise LayerFault(
                "wants more elements than there are",
                code="IRL405",
                expected=f"top_k of at most {s.dims(x)[axis]}",
                found=str(self.top_k),
            )
        return s.emit(search.TopK3(axis, "max", "value"), x, s.i64(self.top_k)).outputs

    def _found(self, s: Steps, x: Value, axis: int) -> Value:
        values, indices = self._largest(s, x, axis)
        return values if self.out_max_val else s.real(indices)


class OneHot(LegacyLayer, type="OneHot", inputs=1):
    """`on_value` at the index that an element gives, else `off_value`, along a new axis."""

    depth: int = attribute(least=1, most=1 << 31)
    on_value: float = 1.0
    off_value: float = 0.0
    axis: int = -1
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value) -> Value:
        whole = s.convert(x, I32)
        values = s.number(self.on_value), s.number(self.off_value)
        return s(generate.OneHot(self.axis), whole, s.i64(self.depth), *values)


class Select(LegacyLayer, type="Select", inputs=3):
    """Elements of the second input where the first is not 0, else of the third."""

    is_real: ClassVar[bool] = False

    def build(self, s: Steps, condition: Value, then: Value, otherwise: Value) -> Value:
        zero = s.constant(0, element_of(condition))
        if element_of(condition) is not ElementType.BOOLEAN:
            condition = s(comparison.NotEqual(), condition, zero)
        return s.select(condition, then, s.convert(otherwise, element_of(then)))


class ReverseSequence(LegacyLayer, type="ReverseSequence", inputs=2):
    """The first elements of each sequence in reverse order."""

    seq_axis: int = 1
    batch_axis: int = 0
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, lengths: Value) -> Value:
        batch, sequence = s.axis(self.batch_axis, x), s.axis(self.seq_axis, x)
        return s(reorder.ReverseSequence(batch, sequence), x, s.convert(lengths, I32))


class Bucketize(LegacyLayer, type="Bucketize", inputs=2):
    """The number of the bucket of each element."""

    with_right_bound: bool = True

    def build(self, s: Steps, x: Value, bounds: Value) -> Value:
        op = search.Bucketize(ElementType.I32, self.with_right_bound)
        return s(op, x, bounds)


class CumSum(LegacyLayer, type="CumSum", inputs=(1, 2)):
    """The sums of the elements so far along an axis."""

    exclusive: bool = False
    reverse: bool = False
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, axis: Value | None = None) -> Value:
        place = s.i64(0) if axis is None else s.shaped(s.whole(axis), ())
        return s(search.CumSum(self.exclusive, self.reverse), x, place)


class ScatterUpdate(LegacyLayer, type="ScatterUpdate", inputs=(3, 4)):
    """The input with other elements at indices along an axis."""

    axis: int = 0
    is_real: ClassVar[bool] = False

    def build(self, s: Steps, x: Value, indices: Value, updates: Value, *axis: Value) -> Value:
        known = s.numbers(axis[0]) if axis else [self.axis]
        if known is None or len(known) != 1:
            raise LayerFault("has an axis that is computed", expected="an axis in a Const")
        place = s.i64(axis_of(known[0], s.dims(x)))
        updates = s.convert(updates, element_of(x))
        return s(scatter.ScatterUpdate(), x, s.convert(indices, I32), updates, place)


class Unique(LegacyLayer, type="Unique", inputs=1, outputs=None):
    """The distinct elements, their places and their numbers.

    The engine of then had outputs of the size of the input: behind the distinct elements it
    repeated the last one.
    """

    sorted: bool = True
    return_inverse: bool = False
    return_counts: bool = False

    def build(self, s: Steps, x: Value) -> tuple[Value, ...]:
        if s.rank(x) != 1:
            raise LayerFault("needs an input of 1 dimension", found=str(list(s.dims(x))))
        (size,) = s.dims(x)
        if self.return_counts:
            raise LayerFault("counts its elements, which irloop does not convert", code="IRL121")
        op = search.Unique(self.sorted, index_element_type=I32, count_element_type=I32)
        unique, _, places, _ = s.emit(op, x).outputs
        last = s(elementwise.Subtract(), s(shape.ShapeOf3(I64), unique), s.i64([1]))
        order = s(elementwise.Minimum(), s.count(size, I64), last)
        values = s(today.Gather(), unique, order, s.i64(0))
        return (values, places)[: len(s.outputs)]


class Range(LegacyLayer, type="Range", inputs=3):
    """The numbers from a start to a limit in steps."""

    is_real: ClassVar[bool] = False

    def build(self, s: Steps, start: Value, limit: Value, step: Value) -> Value:
        element = s.outputs[0].element
        scalars = [s.shaped(s.convert(value, element), ()) for value in (start, limit, step)]
        if all(s.constant_of(value) is not None for value in scalars):
            return s(generate.Range4(element), *scalars)
        if len(s.out()) != 1:
            raise LayerFault(
                "has an output of another rank",
                code="IRL401",
                expected="1",
                found=str(len(s.out())),
            )
        steps = s.count(s.out()[0], element)
        return s.add(s.multiply(steps, scalars[2]), scalars[0])


def _one(s: Steps, value: Value) -> Value:
    """A one-element value as a scalar."""
    return s.shaped(value, ())
