"""OpenVINO operations that slice, split and concatenate tensors."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference, shapes, slices
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Ends, Parts, Sizes, Starts
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType
from irloop.kernels.bounds import bounded

__all__ = ["Concat", "Slice", "SliceScatter", "Split", "StridedSlice", "VariadicSplit"]


class Concat(OpenVinoOp, type="Concat", since=1, inputs=(1, None)):
    """The inputs concatenated along `axis` (Concat-1)."""

    operands = "inputs...: T -> T where T: any"
    cost = "linear"
    moves_text = True

    axis: int = attribute(absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args)
        return [TensorType(element, shapes.concatenated(args, self.axis))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.joined_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.concat(self.axis)


def _axis(args: Arguments) -> int | None:
    axis = args.ints(1)
    if axis is not None and len(axis) != 1:
        raise args.error(
            "axis is not a single number", "one element", str(list(axis)), kind="range"
        )
    return None if axis is None else axis[0]


class Split(OpenVinoOp, type="Split", since=1, inputs=2, outputs=None):
    """Splits into `num_splits` equal parts along the axis in input 1 (Split-1)."""

    meanings = (Axes(1, data=0),)

    operands = "data: any, axis: integer -> parts...: any"
    shapes = "*, ()"
    cost = "parts"

    num_splits: int

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.n_outputs > self.num_splits:
            found = str(args.n_outputs)
            raise args.error("there are more outputs than parts", str(self.num_splits), found)
        parts = slices.equal_parts(args, args.shape(0), _axis(args), self.num_splits)
        return [TensorType(args.element(0), shape) for shape in parts]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.split(self.num_splits)


class VariadicSplit(OpenVinoOp, type="VariadicSplit", since=1, inputs=3, outputs=None):
    """Splits into parts of the lengths in input 2 along the axis in input 1 (VariadicSplit-1).

    One length may be -1, which means the rest of the axis.
    """

    operands = "data: any, axis: float | integer, lengths: float | integer -> parts...: any"
    shapes = "*, (1), ?"
    meanings = (
        Axes(1, data=0),
        Parts(2),
    )
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        found = slices.parts(args, args.shape(0), _axis(args), args.dims(2))
        return [TensorType(args.element(0), shape) for shape in found]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.split_lengths


class StridedSlice(OpenVinoOp, type="StridedSlice", since=1, inputs=(3, 4)):
    """A slice from `begin` to `end` by `strides`, modified by masks (StridedSlice-1).

    A 1 in `begin_mask` or `end_mask` leaves the bound open; in `new_axis_mask` it inserts an axis
    of size 1; in `shrink_axis_mask` it takes one element and removes the axis; in `ellipsis_mask`
    the entry represents all axes that have no entry of their own. Masks are extended with zeros.
    """

    meanings = (
        Starts(1, data=0),
        Ends(2, data=0),
        Sizes(3),
    )

    operands = "data: any, begin: integer, end: integer, stride?: float | integer -> any"
    shapes = "*, L, L, ?"
    cost = "parts"

    begin_mask: tuple[int, ...] = attribute(default=(), least=0, most=1, needed=True)
    end_mask: tuple[int, ...] = attribute(default=(), least=0, most=1)
    new_axis_mask: tuple[int, ...] = attribute(default=(), least=0, most=1)
    shrink_axis_mask: tuple[int, ...] = attribute(default=(), least=0, most=1)
    ellipsis_mask: tuple[int, ...] = attribute(default=(), least=0, most=1)

    @property
    def masks(self) -> tuple[tuple[int, ...], ...]:
        """The masks for begin, end, new axis, shrink axis and ellipsis."""
        return (
            self.begin_mask,
            self.end_mask,
            self.new_axis_mask,
            self.shrink_axis_mask,
            self.ellipsis_mask,
        )

    def infer(self, args: Arguments) -> list[ValueType]:
        # All masks have the length of the begin mask. The other masks may also be empty.
        lengths = {len(mask) for mask in self.masks if mask} | {len(self.begin_mask)}
        if len(lengths) > 1:
            found = ", ".join(map(str, sorted(lengths)))
            raise args.error("masks differ in length", "one length, or none", found)
        return [TensorType(args.element(0), self._shape(args))]

    def _shape(self, args: Arguments) -> Shape:
        count = self.length(args)
        dims = args.shape(0).dims
        if count is None or dims is None:
            return UNKNOWN_SHAPE
        begin, end = self._bounds(args, 1, count), self._bounds(args, 2, count)
        strides: tuple[Dim, ...] = (1,) * count
        if args.has(3):
            strides = self._bounds(args, 3, count)
        result: list[Dim] = []
        axis = 0
        for position in range(count):
            if self._is(self.ellipsis_mask, position):
                left = sum(
                    not self._is(self.new_axis_mask, later) for later in range(position + 1, count)
                )
                result += dims[axis : len(dims) - left]
                axis = max(axis, len(dims) - left)
            elif self._is(self.new_axis_mask, position):
                result.append(1)
            elif axis >= len(dims):
                raise args.error("more positions than dimensions", str(len(dims)), str(count))
            elif strides[position] == 0:
                raise args.error("a stride is zero", "1 or -1, for example", "0", kind="range")
            else:
                if not self._is(self.shrink_axis_mask, position):
                    first = None if self._is(self.begin_mask, position) else begin[position]
                    last = None if self._is(self.end_mask, position) else end[position]
                    result.append(slices.sliced_dim(dims[axis], first, last, strides[position]))
                axis += 1
        return Shape((*result, *dims[axis:]))

    @staticmethod
    def _is(mask: tuple[int, ...], position: int) -> bool:
        return position < len(mask) and mask[position] != 0

    @staticmethod
    def length(args: Arguments) -> int | None:
        """The number of entries of `begin` and `end`, or None if unknown."""
        for position in (1, 2):
            count = shapes.length_of(args, position)
            if count is not None:
                return count
        return None

    @staticmethod
    def _bounds(args: Arguments, position: int, count: int) -> tuple[Dim, ...]:
        bounds, array = args.dims(position), args.constant(position)
        if bounds is None and array is not None and array.dtype.kind == "f":
            # OpenVINO takes strides of any type, and rounds them towards zero.
            bounds = tuple(int(number) for number in array.reshape(-1).tolist())
        if bounds is None:
            return (UNKNOWN_DIM,) * count
        if len(bounds) != count:
            raise args.error("begin, end and strides differ in length", str(count), str(bounds))
        return bounds

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        dims = args.dims(0)
        begin, end = args.ints(1), args.ints(2)
        strides = args.ints(3) if args.has(3) else (1,)
        if dims is None or args.rank(0) != 1 or begin is None or end is None or strides is None:
            return None
        if len(begin) != 1 or self._is(self.new_axis_mask, 0) or 0 in strides:
            return None
        if self._is(self.ellipsis_mask, 0):
            return dims
        if self._is(self.shrink_axis_mask, 0):
            return (dims[begin[0]],) if -len(dims) <= begin[0] < len(dims) else None
        first = None if self._is(self.begin_mask, 0) else begin[0]
        last = None if self._is(self.end_mask, 0) else end[0]
        return dims[bounded(first, last, strides[0], len(dims))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        acting = (tuple(item != 0 for item in mask) for mask in self.masks)
        return kernels.slicing.strided_slice(kernels.slicing.Masks(*acting))


class Slice(OpenVinoOp, type="Slice", since=8, inputs=(4, 5)):
    """Elements from `start` to `stop` by `step` along `axes` (Slice-8).

    Without `axes`, the first axes are sliced.
    """

    meanings = (
        Starts(1, data=0),
        Ends(2, data=0),
        Sizes(3),
        Axes(4, data=0),
    )

    operands = "data: any, start: integer, stop: integer, step: integer, axes?: integer -> any"
    shapes = "*, ?, ?, ?, ?"
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        bounds = slices.SliceBounds.of_inputs(args, 1, 2, 4, 3)
        return [TensorType(args.element(0), slices.sliced(args, args.shape(0), bounds))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return slices.sliced_list(args.dims(0), slices.SliceBounds.of_inputs(args, 1, 2, 4, 3))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.openvino_slice


class SliceScatter(OpenVinoOp, type="SliceScatter", since=15, inputs=(5, 6)):
    """Replaces a slice of the data by input 1 (SliceScatter-15).

    Inputs: data, updates, start, stop, step and optionally axes.
    """

    meanings = (
        Starts(2, data=0),
        Ends(3, data=0),
        Sizes(4),
        Axes(5, data=0),
    )

    operands = (
        "data: any, updates: any, start: integer, stop: integer, step: integer, axes?: integer "
        "-> any"
    )
    shapes = "*, *, ?, ?, ?, ?"
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        bounds = slices.SliceBounds.of_inputs(args, 2, 3, 5, 4)
        expected = slices.sliced(args, args.shape(0), bounds)
        if expected.refine(args.shape(1)) is None:
            raise args.error(
                "updates must have the shape of the slice", str(expected), str(args.shape(1))
            )
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.slice_scatter
