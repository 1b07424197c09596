"""ONNX operations that slice, split and concatenate tensors."""

from __future__ import annotations

from typing import Literal

from irloop import kernels
from irloop.dialects import inference, shapes, slices
from irloop.dialects.onnx.base import NARROW, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Ends, Parts, Rows, Sizes, Starts
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_DIM, Dim, TensorType, ValueType
from irloop.kernels.bounds import chunks

__all__ = [
    "Concat",
    "Concat1",
    "Slice",
    "Slice10",
    "Split",
    "Split1",
    "Split13",
    "Split18",
    "TensorScatter",
]


class _Joining(OnnxOp):
    """Base of concatenations along an axis."""

    cost = "linear"
    moves_text = True

    def joined(self, args: Arguments, axis: int) -> list[ValueType]:
        """Infer the type of the concatenation of all inputs along `axis`, as a list of one type."""
        element = inference.same_element(args)
        return [TensorType(element, shapes.concatenated(args, axis))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.joined_dims(args)


class Concat1(_Joining, type="Concat", since=1, inputs=(1, None)):
    """Concatenates the inputs along `axis`, by default 1 (Concat-1)."""

    not_moved = NARROW

    axis: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.joined(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.concat(self.axis)


class Concat(_Joining, type="Concat", since=4, inputs=(1, None)):
    """Concatenates the inputs along `axis` (Concat-4, 11, 13)."""

    not_moved = NARROW

    axis: int

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.joined(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.concat(self.axis)


class Slice(OnnxOp, type="Slice", since=1, inputs=1):
    """Selects the elements from `starts` to `ends` along `axes` (Slice-1).

    Without `axes`, the bounds apply to the first axes.
    """

    not_moved = NARROW
    cost = "parts"

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    axes: tuple[int, ...] | None = None

    @property
    def bounds(self) -> slices.SliceBounds:
        """The bounds of the slice with their axes."""
        axes = tuple(range(len(self.starts))) if self.axes is None else self.axes
        return slices.SliceBounds(self.starts, self.ends, axes, (1,) * len(axes))

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), slices.sliced(args, args.shape(0), self.bounds))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return slices.sliced_list(args.dims(0), self.bounds)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.slice_fixed(self.starts, self.ends, self.axes)


class Slice10(OnnxOp, type="Slice", since=10, inputs=(3, 5)):
    """Elements from starts to ends along axes by steps, all of them inputs (Slice-10, 11, 13)."""

    meanings = (
        Starts(1, data=0),
        Ends(2, data=0),
        Axes(3, data=0),
        Sizes(4),
    )

    not_moved = NARROW
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        bounds = slices.SliceBounds.of_inputs(args, 1, 2, 3, 4)
        return [TensorType(args.element(0), slices.sliced(args, args.shape(0), bounds))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return slices.sliced_list(args.dims(0), slices.SliceBounds.of_inputs(args, 1, 2, 3, 4))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.slice_


class _Splitting(OnnxOp):
    """Base of splits along an axis."""

    cost = "parts"

    def parts(
        self, args: Arguments, axis: int, lengths: tuple[Dim, ...] | None, count: int | None = None
    ) -> list[ValueType]:
        """Infer the types of the parts into which input 0 is split along `axis`.

        The sizes of the parts are `lengths`. If `lengths` is None, there are `count` equal parts.
        """
        shape = args.shape(0)
        if lengths is None and count is not None:
            found = slices.equal_parts(args, shape, axis, count)
        else:
            found = slices.parts(args, shape, axis, lengths)
        return [TensorType(args.element(0), part) for part in found]


class Split1(_Splitting, type="Split", since=1, inputs=(1, 2), outputs=None):
    """Splits data along `axis` (Split-1).

    Input 1 or `split` has the lengths of the parts. If both are missing, the parts are equal.
    """

    not_moved = NARROW

    meanings = (Parts(1),)

    axis: int = 0
    split: tuple[int, ...] | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.has(1):
            return self.parts(args, self.axis, args.dims(1))
        return self.parts(args, self.axis, self.split, args.n_outputs)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.split is not None:
            fixed = kernels.slicing.split_sizes(self.axis, self.split)
            chunks = kernels.slicing.split_chunks(self.axis, n_outputs)
            return lambda data, sizes=None: fixed(data) if sizes is None else chunks(data, sizes)
        return kernels.slicing.split_chunks(self.axis, n_outputs)


class Split(_Splitting, type="Split", since=2, inputs=1, outputs=None):
    """Splits into parts of the lengths `split`; without it, into equal parts (Split-2, 11)."""

    not_moved = NARROW

    axis: int = 0
    split: tuple[int, ...] | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.parts(args, self.axis, self.split, args.n_outputs)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.split is not None:
            return kernels.slicing.split_sizes(self.axis, self.split)
        return kernels.slicing.split_chunks(self.axis, n_outputs)


class Split13(_Splitting, type="Split", since=13, inputs=(1, 2), outputs=None):
    """Splits into parts of the lengths in input 1, else into equal parts (Split-13)."""

    not_moved = NARROW

    meanings = (Parts(1),)

    axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.has(1):
            return self.parts(args, self.axis, args.dims(1))
        return self.parts(args, self.axis, None, args.n_outputs)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.split_chunks(self.axis, n_outputs)


class Split18(_Splitting, type="Split", since=18, inputs=(1, 2), outputs=None):
    """Splits into parts of given lengths, or into `num_outputs` equal parts (Split-18).

    Input 1 holds the lengths. If the size cannot be divided into equal parts, the last part is
    smaller. Exactly one of input 1 and `num_outputs` is required.
    """

    not_moved = NARROW

    meanings = (Parts(1),)

    axis: int = 0
    num_outputs: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.has(1):
            return self.parts(args, self.axis, args.dims(1))
        count = self.num_outputs
        if count is None:
            raise args.error("neither num_outputs nor lengths are given", "one of them", "none")
        if count != args.n_outputs:
            raise args.error(
                "num_outputs differs from the number of outputs", str(args.n_outputs), str(count)
            )
        return self.parts(args, self.axis, self._chunks(args, count))

    def _chunks(self, args: Arguments, count: int) -> tuple[Dim, ...]:
        at = inference.axis_in(args, self.axis, args.rank(0))
        dim = UNKNOWN_DIM if at is None else args.shape(0).dim(at)
        if not isinstance(dim, int):
            return (dim if count == 1 else UNKNOWN_DIM,) * count
        length = -(-dim // count)
        if length * (count - 1) > dim:
            # All parts but the last have the same length; together they would exceed the axis here.
            raise args.error(
                f"the axis is too short for {count} parts",
                f"at least {length * (count - 1)}: {count - 1} parts of {length}, and the rest",
                str(dim),
                kind="range",
            )
        return chunks(dim, count)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.split_chunks(self.axis, n_outputs)


class TensorScatter(OnnxOp, type="TensorScatter", since=24, inputs=(2, 3)):
    """Writes input 1 into a cache, from each batch item's write index on (TensorScatter-24).

    At the end of `axis`, the mode circular continues at 0; linear does not allow it.
    """

    shapes = "N ..., N ..., N"
    meanings = (Rows(2, data=0),)

    axis: int = -2
    mode: Literal["linear", "circular"] = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args, 0, 1)
        shape = args.shape(0)
        axis = inference.axis_in(args, self.axis, shape.rank)
        if axis == 0:
            raise args.error("axis is the batch axis", "another axis", "0", kind="range")
        if axis is not None and shape.with_dim(axis, UNKNOWN_DIM).refine(args.shape(1)) is None:
            raise args.error(
                "the update's shape does not match the cache", str(shape), str(args.shape(1))
            )
        size = UNKNOWN_DIM if axis is None else shape.dim(axis)
        count = args.shape(1).dim(self.axis) if args.rank(1) else UNKNOWN_DIM
        if isinstance(size, int) and isinstance(count, int) and count > size:
            raise args.error("the update is longer than the cache", str(size), str(count))
        most: Dim = UNKNOWN_DIM
        if self.mode == "linear" and isinstance(size, int) and isinstance(count, int):
            most = size - count
        inference.require_within(args, 2, 0, most, "a position")
        return [TensorType(element, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.slicing.tensor_scatter(self.axis, self.mode == "circular")
