"""The verbs on shapes of the vocabulary of ONNX, in the form that the opset needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from irloop.dialects.onnx import (
    comparison,
    convert,
    elementwise,
    generate,
    padding,
    reduction,
    search,
    slicing,
)
from irloop.dialects.onnx import gather as gathers
from irloop.dialects.onnx import shape as shapes
from irloop.dialects.writing.writer import Writer
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import UNKNOWN_DIM, Dim, DynamicDim, ElementType, Shape, TensorType

__all__ = ["OnnxShapes"]

#: Slice ends that ONNX Runtime reads as "up to the end" in either direction.
_OPEN_ENDS = (2**31 - 1, 2**63 - 1)


class OnnxShapes(Writer):
    """Emits ONNX operations on shapes, axes and positions."""

    def identity(self, value: Value) -> Value:
        return self(convert.Identity(), value)

    def own_copy(self, value: Value) -> Value:
        return self.identity(value)

    def convert_always(self, value: Value, element: ElementType) -> Value:
        return self(convert.Cast6(element), value)

    def as_list(self, value: Value) -> Value:
        whole = self.as_i64(value)
        return whole if static_shape(whole).rank == 1 else self._reshaped(whole, [-1])

    def squeeze(self, value: Value, axes: Sequence[int]) -> Value:
        if self.opset >= 13:
            return self(shapes.Squeeze13(), value, self.i64(list(axes)))
        return self(shapes.Squeeze(self._from_front(axes, static_shape(value).rank)), value)

    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        if self.opset >= 13:
            return self(shapes.Unsqueeze13(), value, self.i64(list(axes)))
        rank = static_shape(value).rank
        wider = None if rank is None else rank + len(axes)
        return self(shapes.Unsqueeze(self._from_front(axes, wider)), value)

    def _from_front(self, axes: Sequence[int], rank: int | None) -> tuple[int, ...]:
        """Count axes from the front where an opset knows no negative ones.

        Raises:
            RefusedError: before opset 11, for a negative axis of a value of unknown rank.
        """
        if self.opset >= 11 or all(axis >= 0 for axis in axes):
            return tuple(axes)
        if rank is None:
            raise self.refuse("an axis counts from the end, and the rank is not known", opset=11)
        return tuple(axis % rank for axis in axes)

    def reshape(self, value: Value, dims: Sequence[int]) -> Value:
        """Reshape; 0 copies a dimension, -1 is inferred from the dimensions that are not copied.

        ONNX infers no -1 where a copied dimension is 0. If that can happen, the size that -1 would
        get is computed from the shape of `value`.
        """
        source = static_shape(value).dims
        copied = [at for at, dim in enumerate(dims) if dim == 0]
        if source is None or -1 not in dims or all(_is_positive(source[at]) for at in copied):
            return self.reshape_to(value, self.i64(list(dims)))
        place = dims.index(-1)
        rest = [axis for axis in range(len(source)) if axis not in copied]
        computed = [axis for axis in rest if not isinstance(source[axis], int)]
        factor = math.prod(dim for axis in rest if isinstance(dim := source[axis], int))
        divisor = math.prod(dim for dim in dims if dim > 0)
        if not computed and factor >= divisor:
            return self.reshape_to(
                value, self.i64([*dims[:place], factor // divisor, *dims[place + 1 :]])
            )
        if computed == [place] and factor == divisor:
            return self.reshape_to(value, self.i64([*dims[:place], 0, *dims[place + 1 :]]))
        common = math.gcd(factor, divisor)
        size = self._inferred(value, computed, factor // common, divisor // common)
        pieces = []
        for dim, run in groupby(enumerate(dims), key=lambda item: min(item[1], 1)):
            if dim < 0:
                pieces.append(size)
            elif dim == 0:
                pieces.append(self.sizes_of(value, [axis for axis, _ in run]))
            else:
                pieces.append(self.i64([known for _, known in run]))
        return self.reshape_to(value, self.concat(pieces, 0), special_zero=False)

    def _inferred(self, value: Value, axes: list[int], factor: int, divisor: int) -> Value:
        """Emit the product of the dimensions on `axes` and of `factor`, divided by `divisor`.

        The result is an i64 vector with one element.
        """
        if not axes:
            return self.i64([factor // divisor])
        size = self.sizes_of(value, axes)
        if len(axes) > 1:
            size = self(
                reduction.ReduceProd18() if self.opset >= 18 else reduction.ReduceProd1(), size
            )
        if factor != 1:
            size = self(elementwise.Mul(), size, self.i64([factor]))
        return size if divisor == 1 else self(elementwise.Div(), size, self.i64([divisor]))

    def reshape_to(self, value: Value, pattern: Value, *, special_zero: bool = True) -> Value:
        """Reshape `value` to the shape `pattern`, a list of i64 numbers.

        With `special_zero`, a 0 in `pattern` stands for the dimension of `value` at the same
        position. Otherwise, it means size 0.

        Raises:
            RefusedError: before opset 14 without `special_zero`, when `value` may be empty and the
                rank of the result is unknown.
        """
        if self.opset >= 14:
            return self(shapes.Reshape14(allowzero=not special_zero), value, pattern)
        known, dims = self.constant_of(pattern), static_shape(value).dims
        has_elements = dims is not None and all(map(_is_positive, dims))
        if special_zero or has_elements or (known is not None and 0 not in known):
            return self(shapes.Reshape(), value, pattern)
        if known is not None:
            import numpy as np

            # The tensor is empty, so every tensor of that shape is equal to it.
            sizes = [max(int(dim), 0) for dim in known]
            return self.tensor(
                ArrayTensor(np.zeros(sizes, element_of(value).numpy()), element_of(value))
            )
        return self._reshaped_of_any_size(value, pattern)

    def _reshaped_of_any_size(self, value: Value, pattern: Value) -> Value:
        """Reshape `value` to `pattern`, in which 0 means a dimension of size 0.

        Before opset 14, Reshape takes a 0 in the pattern as a request to copy the dimension of the
        operand at the same position. So if `value` is empty, it is first given a shape of zeros,
        from which every 0 copies a 0. With a pattern of three numbers, the nodes are:

            Reshape(Expand(Reshape(value, [-1, 1, 1]), [n, k, k]), pattern)

        Here n is the number of elements, and k is 0 if n is 0, otherwise 1. If `value` is empty, a
        -1 in the pattern is replaced by 0.
        """
        rank = static_shape(pattern).count()
        if rank is None:
            raise self.refuse("a tensor that may be empty is reshaped to an unknown rank", opset=14)
        if rank == 0:
            return self(shapes.Reshape(), value, pattern)
        flat = self.reshape(value, [-1, *[1] * (rank - 1)])
        # ONNX Runtime leaves out an Expand of no elements to a constant shape before a Reshape.
        count = self.sizes_computed(flat, [0])
        some = self.as_i64(self(convert.Cast6(ElementType.BOOLEAN), count))
        spread = self.expand(flat, self.concat([count, *[some] * (rank - 1)], 0))
        open_ends = self.as_i64(self(comparison.Equal(), pattern, self.i64([-1])))
        none = self(elementwise.Sub(), self.i64([1]), some)
        closed = self(elementwise.Add(), pattern, self(elementwise.Mul(), open_ends, none))
        made = self(shapes.Reshape(), spread, closed)
        dims = self.inference.dims(pattern)
        if dims is not None:
            known = Shape(tuple(UNKNOWN_DIM if dim == -1 else dim for dim in dims))
            self.inference.hint(made, TensorType(element_of(value), known))
            self.inference.visit(made.producer)
        return made

    def reshape_exactly(self, value: Value, pattern: Value, *, may_be_empty: bool) -> Value:
        # Before opset 14 a 0 always copies a dimension, which is usually right; there is no
        # alternative.
        copies = not may_be_empty or self.opset < 14
        return self.reshape_to(value, pattern, special_zero=copies)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if list(order) == list(range(len(order))):
            return value
        return self(shapes.Transpose(tuple(order)), value)

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        if len(values) == 1:
            return values[0]
        return self(slicing.Concat(axis), *values)

    def split(self, value: Value, axis: int, lengths: Sequence[int]) -> list[Value]:
        """Split into parts of these lengths along an axis."""
        if len(lengths) == 1:
            return [value]
        if self.opset >= 18:
            node = self.emit(
                slicing.Split18(axis), value, self.i64(list(lengths)), n_outputs=len(lengths)
            )
        elif self.opset >= 13:
            node = self.emit(
                slicing.Split13(axis), value, self.i64(list(lengths)), n_outputs=len(lengths)
            )
        else:
            node = self.emit(slicing.Split(axis, tuple(lengths)), value, n_outputs=len(lengths))
        return list(node.outputs)

    def slice(
        self,
        value: Value,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> Value:
        strides = [1] * len(axes) if steps is None else list(steps)
        return self.slice_by(
            value,
            self.i64(list(starts)),
            self.i64(list(ends)),
            self.i64(list(axes)),
            None if all(step == 1 for step in strides) else self.i64(strides),
        )

    def slice_by(
        self,
        value: Value,
        starts: Value,
        ends: Value,
        axes: Value | None = None,
        steps: Value | None = None,
    ) -> Value:
        """Slice `value`; the bounds, axes and steps are i64 vectors."""
        if self.opset < 10:
            found = self._sliced_by_numbers(value, starts, ends, axes, steps)
            if found is not None:
                return found
        return self(slicing.Slice10(), value, starts, self._exact_ends(ends, steps), axes, steps)

    def _sliced_by_numbers(
        self,
        value: Value,
        starts: Value,
        ends: Value,
        axes: Value | None,
        steps: Value | None,
    ) -> Value | None:
        """Emit the Slice of opsets before 10, whose bounds are attributes.

        Returns None if a bound, an axis or a step is not constant.
        """
        count = static_shape(starts).count() or 0
        whole = self.i64(list(range(count))) if axes is None else axes
        strides = self.i64([1] * count) if steps is None else steps
        known = [self.constant_of(item) for item in (starts, ends, whole, strides)]
        if any(item is None for item in known):
            return None
        first, last, along, by = ([int(n) for n in item] for item in known if item is not None)
        return self._sliced_before_10(value, first, last, along, by)

    def _sliced_before_10(
        self,
        value: Value,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int],
    ) -> Value | None:
        """A slice with known bounds: Slice-1 for steps of 1, else a Gather.

        None if a Gather would need a size that is unknown.
        """
        bounds = list(zip(starts, ends, axes, steps, strict=True))
        ones = [(start, end, axis) for start, end, axis, step in bounds if step == 1]
        if ones:
            value = self(slicing.Slice(*zip(*ones, strict=True)), value)
        for start, end, axis, step in bounds:
            if step == 1:
                continue
            size = static_shape(value).dim(axis)
            if not isinstance(size, int):
                return None
            # With a negative step, such an end lies before the first element: Python writes it as
            # None.
            stop = None if step < 0 and end < -size else end
            places = range(size)[slice(start, stop, step)]
            value = self.gather(value, self.i64(list(places)), axis)
        return value

    def _exact_ends(self, ends: Value, steps: Value | None) -> Value:
        """Subtract 1 from each end of 2^31 - 1 or 2^63 - 1 whose step is negative.

        With a negative step, ONNX Runtime reads these two integers as an open end, but other
        runtimes read them as positions after the last element. All runtimes read an integer that is
        1 smaller as such a position. Ends are changed only if the ends and the steps are constant.
        """
        last = self.constant_of(ends)
        strides = None if steps is None else self.constant_of(steps)
        if last is None or strides is None:
            return ends
        pairs = zip(last.tolist(), strides.tolist(), strict=True)
        exact = [end - (step < 0 and end in _OPEN_ENDS) for end, step in pairs]
        return ends if exact == last.tolist() else self.i64(exact)

    def part(self, value: Value, axis: int, start: int, end: int, step: int = 1) -> Value:
        if self.opset < 10 and step != 1:
            # Before opset 10, Slice has no steps: gather instead, which needs a known size.
            size = static_shape(value).dim(axis)
            assert isinstance(size, int)
            return self.take(value, range(size)[start:end:step], axis)
        if self.opset < 10:
            return self(slicing.Slice((start,), (end,), (axis,)), value)
        return self(
            slicing.Slice10(), value, *(self.i64([item]) for item in (start, end, axis, step))
        )

    def reverse(self, value: Value, axis: int) -> Value:
        if self.opset >= 10 or isinstance(static_shape(value).dim(axis), int):
            return super().reverse(value, axis)
        # Before opset 10, Slice only goes forward.
        length = self.size_of(value, axis)
        last = self.subtract(length, self.i64(1))
        return self.gather(value, self.subtract(last, self.numbers_below(length)), axis)

    def gather(
        self, value: Value, indices: Value, axis: int, *, may_be_negative: bool = True
    ) -> Value:
        return self(gathers.Gather(axis), value, indices)

    @property
    def shape_operation(self) -> Op:
        return shapes.Shape15() if self.opset >= 15 else shapes.Shape1()

    def sizes_computed(self, value: Value, axes: Sequence[int]) -> Value:
        first = axes[0]
        if self.opset >= 15 and first >= 0 and list(axes) == [*range(first, first + len(axes))]:
            return self(shapes.Shape15(first, first + len(axes)), value)
        return super().sizes_computed(value, axes)

    def size_of(self, value: Value, axis: int) -> Value:
        known = static_shape(value).dim(axis)
        return (
            self.i64(known) if isinstance(known, int) else self.take(self.shape_of(value), axis, 0)
        )

    def expand(self, value: Value, target: Value) -> Value:
        """Emit an Expand, which broadcasts `value` with the shape in `target`, a 1-D i64 tensor."""
        return self(shapes.Expand(), value, target)

    def tile(self, value: Value, repeats: Value) -> Value:
        return self(shapes.Tile(), value, repeats)

    def pad(
        self, value: Value, pads: Value, fill: Value | None = None, mode: str = "constant"
    ) -> Value:
        """Pad; `pads` is an i64 list of all begins and then all ends, `fill` a scalar."""
        if self.opset >= 19:
            return self(padding.Pad19(mode), value, pads, fill)
        numbers, filler = self.constant_of(pads), None if fill is None else self.constant_of(fill)
        may_be_fixed = self.opset < 11 and element_of(value).is_float
        if may_be_fixed and numbers is not None and (fill is None or filler is not None):
            fixed = tuple(int(item) for item in numbers)
            number = 0.0 if filler is None else float(filler.reshape(-1)[0])
            return self(padding.Pad2(fixed, mode, number), value)
        if self.opset >= 18:
            return self(padding.Pad18(mode), value, pads, fill)
        return self(padding.Pad11(mode), value, pads, fill)

    def constant_of_shape(self, target: Value, number: float, element: ElementType) -> Value:
        """A tensor that is filled with `number`; the i64 vector `target` is its shape."""
        if self.opset < 9:
            return self.expand(self.constant(number, element), target)
        import numpy as np

        tensor = ArrayTensor(np.array([number]).astype(element.numpy()), element)
        return self(generate.ConstantOfShape(tensor), target)

    def topk(
        self, value: Value, k: Value, axis: int, *, largest: bool = True
    ) -> tuple[Value, Value]:
        """The largest (or smallest) elements along an axis and their i64 positions.

        `k` is a one-element i64 vector.
        """
        if self.opset == 10 and largest:
            values, indices = self.emit(search.TopK10(axis), value, k, n_outputs=2).outputs
            return values, indices
        count = self.constant_of(k)
        if self.opset < 10 and largest and count is not None:
            number = int(count.reshape(-1)[0])
            values, indices = self.emit(search.TopK1(number, axis), value, n_outputs=2).outputs
            return values, indices
        op = search.TopK11(axis=axis, largest=largest)
        values, indices = self.emit(op, value, k, n_outputs=2).outputs
        return values, indices


def _is_positive(dim: Dim) -> bool:
    return dim.low > 0 if isinstance(dim, DynamicDim) else dim > 0
