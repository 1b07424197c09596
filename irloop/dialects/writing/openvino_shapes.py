"""The verbs on shapes of the vocabulary of OpenVINO, in operations up to the opset."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from irloop.dialects.openvino import convert as conversions
from irloop.dialects.openvino import elementwise, generate, padding, search, slicing
from irloop.dialects.openvino import gather as gathers
from irloop.dialects.openvino import shape as shapes
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.writer import Writer
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.types import ElementType

__all__ = ["OpenVinoShapes"]


class OpenVinoShapes(Writer):
    """Emits OpenVINO operations on shapes, axes and positions."""

    def as_list(self, value: Value) -> Value:
        return value if static_shape(value).rank == 1 else self._reshaped(value, [-1])

    def as_one_element(self, value: Value) -> Value:
        """A condition or trip count as a scalar or a vector [1].

        ONNX Runtime takes one element of any rank; OpenVINO refuses ranks above 1.
        """
        rank = static_shape(value).rank
        return value if rank is None or rank < 2 else self._reshaped(value, [1])

    def reshape_exactly(self, value: Value, pattern: Value, *, may_be_empty: bool) -> Value:
        return self.reshape_to(value, pattern, special_zero=False)

    def squeeze(self, value: Value, axes: Sequence[int]) -> Value:
        return self(shapes.Squeeze(), value, self.i64(list(axes)))

    def unsqueeze(self, value: Value, axes: Sequence[int]) -> Value:
        return self(shapes.Unsqueeze(), value, self.i64(list(axes)))

    def reshape(self, value: Value, dims: Sequence[int]) -> Value:
        """Reshape `value` to `dims`.

        In `dims`, 0 copies the dimension of `value` at the same position, and -1 stands for the
        dimension that follows from the number of elements.
        """
        return self.reshape_to(value, self.i64(list(dims)), special_zero=0 in dims)

    def reshape_to(self, value: Value, pattern: Value, *, special_zero: bool = True) -> Value:
        """Reshape `value` to the shape in `pattern`, an integer list.

        With `special_zero`, a 0 in `pattern` copies the dimension of `value` at the same position.
        """
        return self(shapes.Reshape(special_zero=special_zero), value, pattern)

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if list(order) == list(range(len(order))):
            return value
        return self(shapes.Transpose(), value, self.i64(list(order)))

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Concatenate values; a single value is returned unchanged.

        In OpenVINO 2026.4 the result of a Concat of one value shares the memory of this value. A
        reader of the result may overwrite this memory, although other nodes still read the value.
        """
        if len(values) == 1:
            return values[0]
        return self(slicing.Concat(axis), *values)

    def split(self, value: Value, axis: int, count: int) -> list[Value]:
        """Split `value` into `count` equal parts along an axis."""
        node = self.emit(slicing.Split(count), value, self.i64(axis), n_outputs=count)
        return list(node.outputs)

    def variadic_split(self, value: Value, axis: int, lengths: Sequence[int]) -> list[Value]:
        """Split into parts of these lengths along an axis; one may be -1, which is inferred."""
        return self.variadic_split_by(value, axis, self.i64(list(lengths)))

    def variadic_split_by(self, value: Value, axis: int, lengths: Value) -> list[Value]:
        """Split along an axis into parts of these lengths.

        `lengths` is an integer vector with a known number of elements.
        """
        count = static_shape(lengths).count()
        assert count is not None, "the number of parts is known"
        node = self.emit(slicing.VariadicSplit(), value, self.i64(axis), lengths, n_outputs=count)
        return list(node.outputs)

    def slice(
        self,
        value: Value,
        starts: Sequence[int],
        ends: Sequence[int],
        axes: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> Value:
        """Slice from `starts` to `ends` along `axes`.

        Raises:
            RefusedError: before opset8, for axes of mixed sign if the rank is unknown.
        """
        strides = [1] * len(axes) if steps is None else list(steps)
        if self.opset >= 8:
            bounds = self.i64(list(starts)), self.i64(list(ends))
            return self.slice_by(value, *bounds, axes, self.i64(strides))
        return self._strided(value, list(starts), list(ends), list(axes), strides)

    def slice_by(
        self,
        value: Value,
        starts: Value,
        ends: Value,
        axes: Sequence[int],
        steps: Value,
    ) -> Value:
        """Slice `value` along `axes`, from `starts` to `ends`, with the given steps.

        `starts`, `ends` and `steps` are integer vectors with one element per axis.

        Raises:
            RefusedError: before opset8, if the rank of `value` is unknown and some axes are
                negative and others are not.
        """
        if self.opset >= 8:
            return self(slicing.Slice(), value, starts, ends, steps, self.i64(list(axes)))
        known = [self.constant_of(bound) for bound in (starts, ends, steps)]
        if all(bound is not None for bound in known):
            numbers = [[int(item) for item in bound] for bound in known if bound is not None]
            return self._strided(value, numbers[0], numbers[1], list(axes), numbers[2])
        positions = _Positions.of(self, value, list(axes))
        mask = [int(at not in positions.at) for at in range(positions.count)]
        begin, end = (self._spread(bound, positions, 0) for bound in (starts, ends))
        return self(positions.op(mask, mask), value, begin, end, self._spread(steps, positions, 1))

    def _strided(
        self,
        value: Value,
        starts: list[int],
        ends: list[int],
        axes: list[int],
        steps: list[int],
    ) -> Value:
        """Emit a StridedSlice that slices `axes` by constant bounds and steps.

        The lists have one entry for each of `axes`. StridedSlice needs an entry for every axis up
        to the last sliced axis. An axis that is not in `axes` is kept whole: the masks tell
        OpenVINO to ignore its bounds. Bounds that mean the beginning or the end of an axis are
        ignored in the same way.
        """
        positions = _Positions.of(self, value, axes)
        count = positions.count
        begin, end, strides = [0] * count, [0] * count, [1] * count
        begin_mask, end_mask = [1] * count, [1] * count
        for start, stop, axis, step in zip(starts, ends, positions.at, steps, strict=True):
            strides[axis] = step
            if not _opens(start, step):
                begin[axis], begin_mask[axis] = start, 0
            if not _closes(stop, step):
                end[axis], end_mask[axis] = stop, 0
        return self(
            positions.op(begin_mask, end_mask),
            value,
            self.i64(begin),
            self.i64(end),
            self.i64(strides),
        )

    def _spread(self, items: Value, positions: _Positions, filler: int) -> Value:
        """Emit the begin, end or stride list of a StridedSlice from the values for its sliced axes.

        `items` has a value for each sliced axis; the other entries of the list are `filler`. The
        length of the list is `positions.count`.
        """
        items = self.as_i64(items)
        at, count = positions.at, positions.count
        if at == list(range(count)):
            return items
        source = self.concat([items, self.i64([filler])], 0)
        order = [at.index(place) if place in at else len(at) for place in range(count)]
        return self(gathers.Gather(), source, self.i64(order), self.i64(0))

    def part(self, value: Value, axis: int, start: int, end: int, step: int = 1) -> Value:
        # The mask leaves both bounds open, so that a reversed slice includes the first element.
        mask = (1,) * axis + (int(step < 0),)
        op = slicing.StridedSlice(begin_mask=mask, end_mask=mask)
        bounds = [self.i64([0] * axis + [item]) for item in (start, end)]
        return self(op, value, *bounds, self.i64([1] * axis + [step]))

    def gather(
        self, value: Value, indices: Value, axis: int, *, may_be_negative: bool = True
    ) -> Value:
        if self.opset >= 8:
            return self(gathers.Gather8(), value, indices, self.i64(axis))
        positive = self.non_negative(indices, value, axis) if may_be_negative else indices
        op = gathers.Gather7() if self.opset >= 7 else gathers.Gather()
        return self(op, value, positive, self.i64(axis))

    def non_negative(self, indices: Value, value: Value, axis: int) -> Value:
        """Make negative indices along an axis of `value` non-negative."""
        known = self.constant_of(indices)
        if known is not None and not (known < 0).any():
            return indices
        shape = static_shape(value)
        dim = shape.dim(axis)
        element = element_of(indices)
        if known is not None and isinstance(dim, int):
            return self.constant(known + dim * (known < 0), element)
        size = self.size_of(value, axis)
        if element is not ElementType.I64:
            size = self(conversions.Convert(element), size)
        return self.from_the_end(indices, size)

    def non_negative_coordinates(self, indices: Value, value: Value, batch_dims: int = 0) -> Value:
        """Convert negative coordinates, which count from the end of an axis, to non-negative ones.

        The last axis of `indices` holds the coordinates of an element of `value`, along the axes
        that follow the first `batch_dims` axes.

        Raises:
            RefusedError: when the number of coordinates is not known.
        """
        known = self.constant_of(indices)
        if known is not None and not (known < 0).any():
            return indices
        shape = static_shape(indices)
        depth = shape.dim(-1) if shape.rank else None
        if not isinstance(depth, int):
            raise self.refuse("the number of its coordinates is not known", "write opset8")
        wide = self.as_i64(indices)
        sizes = self.slice(self.shape_of(value), [batch_dims], [batch_dims + depth], [0])
        return self.from_the_end(wide, sizes)

    @property
    def shape_operation(self) -> Op:
        return shapes.ShapeOf3() if self.opset >= 3 else shapes.ShapeOf()

    def size_of(self, value: Value, axis: int) -> Value:
        shape = static_shape(value)
        dim = shape.dim(axis)
        if isinstance(dim, int):
            return self.i64(dim)
        dims = self.shape_of(value)
        if self.opset >= 8:
            return self(gathers.Gather8(), dims, self.i64(axis), self.i64(0))
        index = self.i64(axis if shape.rank is None else axis % shape.rank)
        if axis < 0 and shape.rank is None:
            index = self(elementwise.Add(), self.reshape(self.shape_of(dims), []), self.i64(axis))
        return self(gathers.Gather(), dims, index, self.i64(0))

    def broadcast(self, value: Value, target: Value, mode: str = "numpy") -> Value:
        """Broadcast `value` to the shape in an integer list; mode numpy or bidirectional."""
        return self(shapes.Broadcast3(mode=mode), value, target)

    def tile(self, value: Value, repeats: Value) -> Value:
        return self(shapes.Tile(), value, repeats)

    def with_hidden_sizes(
        self, value: Value, axes: Collection[int], number: Value, empty: Collection[int] = ()
    ) -> Value:
        """Hide the sizes of `value` along `axes` from OpenVINO; its rank is known.

        The value is repeated once by a Tile whose repeats are computed as 1 + (n - n), which
        OpenVINO cannot know to be 1. `number` is n, an i64 vector of one element that is known only
        at run time. Along the axes of `empty`, the value is repeated n - n times: not at all.
        """
        dims = static_shape(value).dims
        assert dims is not None, "the rank is known"
        places = range(len(dims))
        marks = self.i64([int(axis in axes) for axis in places])
        nothing = self.subtract(number, number)
        once = self.i64([int(axis not in empty) for axis in places])
        hidden = self.tile(value, self.add(once, self.multiply(marks, nothing)))
        # If some repeats are computed, OpenVINO knows no size of the result, not even on axes that
        # are not repeated. A concatenated output would lose its sizes if its Loop does not start.
        sizes = [
            dim if isinstance(dim, int) and axis not in axes else 0 for axis, dim in enumerate(dims)
        ]
        return self.reshape(hidden, sizes) if any(sizes) else hidden

    def pad(
        self,
        value: Value,
        begins: Value,
        ends: Value,
        fill: Value | None = None,
        mode: str = "constant",
    ) -> Value:
        """Pad `value` by `begins` and `ends` elements, given as lists with a number for each axis.

        The numbers must not be negative. `fill` is a scalar, or None for zeros.
        """
        return self(padding.Pad(mode), value, begins, ends, fill)

    def range(
        self, start: Value, stop: Value, step: Value, element: ElementType = ElementType.I64
    ) -> Value:
        """The numbers from `start` up to, but excluding, `stop`, in steps of `step`.

        All three are scalars.
        """
        return self(generate.Range4(output_type=element), start, stop, step)

    def topk(self, value: Value, k: Value, axis: int, *, mode: str = "max") -> tuple[Value, Value]:
        """The largest (or smallest) elements along an axis and their positions; `k` is a scalar.

        OpenVINO returns equal elements in any order; `ordered_topk` returns them in ONNX's.
        """
        op = search.TopK3(axis=axis, mode=mode, sort="value", index_element_type=ElementType.I64)
        values, indices = self.emit(op, value, k, n_outputs=2).outputs
        return values, indices


class _Positions(Record):
    """The positions of the sliced axes in the begin and end lists of a StridedSlice.

    `at` holds an index into the lists for each sliced axis, and `count` is the length of the lists.
    For a slice of axis 2 alone, `at` is [2] and `count` is 3.

    If the rank is unknown and all sliced axes are negative, `ellipsis` is true. The lists then
    start with an entry for an ellipsis, and the other entries belong to the last axes. For axis -1,
    `at` is [1] and `count` is 2.
    """

    at: list[int]
    count: int
    ellipsis: bool = False

    @classmethod
    def of(cls, w: Writer, value: Value, axes: Sequence[int]) -> _Positions:
        """Find the positions of `axes` in the begin and end lists of a StridedSlice of `value`.

        Raises:
            RefusedError: when the rank of `value` is unknown, and `axes` mixes negative and
                non-negative axes.
        """
        rank = static_shape(value).rank
        if rank is None and axes and max(axes) < 0:
            count = 1 - min(axes)
            return cls([count + axis for axis in axes], count, ellipsis=True)
        if rank is None and any(axis < 0 for axis in axes):
            raise w.refuse(
                "some of its axes are negative and some are not, and the rank is not known",
                "write opset8",
            )
        at = [axis if rank is None else axis % rank for axis in axes]
        return cls(at, max(at, default=-1) + 1)

    def op(self, begin_mask: Sequence[int], end_mask: Sequence[int]) -> slicing.StridedSlice:
        """Make a StridedSlice with these masks and, if it is needed, a leading ellipsis."""
        return slicing.StridedSlice(
            begin_mask=tuple(begin_mask),
            end_mask=tuple(end_mask),
            # OpenVINO's reader requires masks of equal length.
            ellipsis_mask=(1,) + (0,) * (self.count - 1) if self.ellipsis else (),
        )


def _opens(start: int, step: int) -> bool:
    return start >= TO_THE_END if step < 0 else start == 0 or start <= -TO_THE_END


def _closes(stop: int, step: int) -> bool:
    return stop <= -TO_THE_END if step < 0 else stop >= TO_THE_END
