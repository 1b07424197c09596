"""ONNX operations that read or change shapes."""

from __future__ import annotations

import math

from irloop import kernels
from irloop.dialects import inference, shapes
from irloop.dialects.onnx.base import BF16, NARROW, TINY_FLOATS, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, NewShape, Sizes
from irloop.graph.op import Kernel
from irloop.graph.types import Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "Expand",
    "Flatten",
    "Reshape",
    "Reshape1",
    "Reshape14",
    "Shape1",
    "Shape15",
    "Size",
    "Squeeze",
    "Squeeze13",
    "Tile",
    "Tile1",
    "Transpose",
    "Unsqueeze",
    "Unsqueeze13",
]


class Shape1(OnnxOp, type="Shape", since=1, inputs=1):
    """The dimensions as i64 (Shape-1, 13)."""

    reads_shape_only = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.I64, Shape.of(args.rank(0)))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.shape(0).dims

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.shape_of(ElementType.I64.numpy())


class Shape15(OnnxOp, type="Shape", since=15, inputs=1):
    """The dimensions from `start` up to `end` as i64 (Shape-15, 19, 21, 23, 24, 25)."""

    reads_shape_only = True
    cost = "parts"

    start: int = 0
    end: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        dims = args.shape(0).dims
        count = None if dims is None else len(dims[self.start : self.end])
        return [TensorType(ElementType.I64, Shape.of(count))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        dims = args.shape(0).dims
        return None if dims is None else dims[self.start : self.end]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.shape_range(self.start, self.end)


class Size(OnnxOp, type="Size", since=1, inputs=1):
    """The number of elements as an i64 scalar (Size-1, 13, 19, 21, 23, 24, 25)."""

    reads_shape_only = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.I64, Shape(()))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        dims = args.shape(0).dims
        return None if dims is None else (shapes.multiplied(dims),)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.size


class _Reshaping(OnnxOp):
    """Base of operations that keep the elements and change the shape."""

    cost = "parts"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.kept_dims(args)


class Reshape1(_Reshaping, type="Reshape", since=1, inputs=1):
    """Changes the shape to that of the attribute `shape` and keeps the elements (Reshape-1).

    In `shape`, 0 means the dimension of the input at this axis, and -1 is inferred.
    """

    not_moved = NARROW
    reshapes = True

    shape: tuple[int, ...]

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = shapes.reshaped(args, args.shape(0), self.shape, special_zero=True)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        reshape_to, target = kernels.shape.reshape_to, list(self.shape)
        return lambda data: reshape_to(data, target, True)


class Reshape(_Reshaping, type="Reshape", since=5, inputs=2):
    """The elements in the shape given by input 1 (Reshape-5, 13).

    In this shape, 0 copies a dimension, and -1 is inferred.
    """

    meanings = (NewShape(1),)

    not_moved = NARROW
    reshapes = True

    def infer(self, args: Arguments) -> list[ValueType]:
        pattern = shapes.shape_from(args, 1).dims
        shape = shapes.reshaped(args, args.shape(0), pattern, special_zero=True)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.reshape(True)


class Reshape14(_Reshaping, type="Reshape", since=14, inputs=2):
    """The elements in the shape given by input 1 (Reshape-14, 19, 21, 23, 24, 25).

    In this shape, 0 copies a dimension, and -1 is inferred. If `allowzero` is set, a 0 means a
    dimension of size 0 instead.
    """

    shapes = "*, ?"
    meanings = (NewShape(1),)

    not_moved = NARROW
    reshapes = True

    allowzero: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        pattern = shapes.shape_from(args, 1).dims
        if self.allowzero and pattern is not None and 0 in pattern and -1 in pattern:
            raise args.error("0 and -1 together are ambiguous with allowzero", "only one of them")
        shape = shapes.reshaped(args, args.shape(0), pattern, special_zero=not self.allowzero)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.reshape(not self.allowzero)


class Flatten(_Reshaping, type="Flatten", since=1, inputs=1):
    """Flattens to a matrix at `axis` (Flatten-1, 9, 11, 13, 21 to 25)."""

    reshapes = True

    axis: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), shapes.flattened(args, args.shape(0), self.axis))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.flatten(self.axis)


class Squeeze(_Reshaping, type="Squeeze", since=1, inputs=1):
    """Removes dimensions of size 1: those in `axes` or, without it, all (Squeeze-1, 11)."""

    not_moved = NARROW
    reshapes = True

    axes: tuple[int, ...] | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        axes = () if self.axes is None else self.axes
        return [TensorType(args.element(0), shapes.squeezed(args, args.shape(0), axes))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        # An empty list means all axes of size 1, as in ONNX Runtime and OpenVINO.
        return kernels.shape.squeeze_fixed(self.axes or None)


class Squeeze13(_Reshaping, type="Squeeze", since=13, inputs=(1, 2)):
    """Removes dimensions of size 1: those in input 1 or, without it, all (Squeeze-13, 21 to 25).

    An empty list of axes also means all, as in ONNX Runtime and OpenVINO.
    """

    meanings = (Axes(1, data=0, single=True),)

    not_moved = NARROW
    reshapes = True

    def infer(self, args: Arguments) -> list[ValueType]:
        axes = args.ints(1) if args.has(1) else ()
        return [TensorType(args.element(0), shapes.squeezed(args, args.shape(0), axes))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.squeeze_axes


class Unsqueeze(_Reshaping, type="Unsqueeze", since=1, inputs=1):
    """Inserts dimensions of size 1 at the given positions of the result (Unsqueeze-1, 11)."""

    not_moved = NARROW
    reshapes = True

    axes: tuple[int, ...]

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), shapes.unsqueezed(args, args.shape(0), self.axes))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.unsqueeze_fixed(self.axes)


class Unsqueeze13(_Reshaping, type="Unsqueeze", since=13, inputs=2):
    """Inserts dimensions of size 1 at positions of the result (Unsqueeze-13, 21, 23, 24, 25)."""

    meanings = (Axes(1, data=0, new=True),)

    not_moved = NARROW
    reshapes = True

    def infer(self, args: Arguments) -> list[ValueType]:
        count = shapes.length_of(args, 1)
        shape = shapes.unsqueezed(args, args.shape(0), args.ints(1), count)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.unsqueeze


class Transpose(_Reshaping, type="Transpose", since=1, inputs=1):
    """Permutes the axes by `perm`, by default reverses them (Transpose-1, 13, 21, 23, 24, 25)."""

    # Since opset 21, Transpose moves 8-bit floats; the types themselves exist since opset 19.
    not_moved = TINY_FLOATS - BF16

    perm: tuple[int, ...] | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        order = () if self.perm is None else self.perm
        return [TensorType(args.element(0), shapes.transposed(args, args.shape(0), order))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.transpose_by(self.perm)


class Expand(OnnxOp, type="Expand", since=8, inputs=2):
    """Broadcasts the first input and the shape in input 1 against each other (Expand-8, 13)."""

    not_moved = NARROW | BF16

    shapes = "*, ?"
    meanings = (Sizes(1),)

    expands = True
    cost = "linear"
    moves_text = True

    def infer(self, args: Arguments) -> list[ValueType]:
        target = shapes.shape_from(args, 1)
        shape = shapes.broadcast_to(args, args.shape(0), target, both_ways=True)
        return [TensorType(args.element(0), shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.repeated_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.broadcast_bidirectional


class Tile1(OnnxOp, type="Tile", since=1, inputs=3):
    """Repeats the tensor along one axis; tiles and axis are inputs (Tile-1)."""

    not_moved = NARROW | BF16

    meanings = (Sizes(1),)

    expands = True
    cost = "linear"
    moves_text = True

    def infer(self, args: Arguments) -> list[ValueType]:
        shape, tiles, axis = args.shape(0), args.ints(1), args.ints(2)
        if shape.dims is None or tiles is None or axis is None:
            rank = shape.rank
            unknown = Shape(None) if rank is None else Shape.of_rank(rank)
            return [TensorType(args.element(0), unknown)]
        dim = shapes.multiplied((shape.dim(axis[0]), tiles[0]))
        return [TensorType(args.element(0), shape.with_dim(axis[0], dim))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.tile_axis


class Tile(OnnxOp, type="Tile", since=6, inputs=2):
    """Repeats the tensor along each axis (Tile-6, 13)."""

    not_moved = NARROW | BF16

    meanings = (Sizes(1),)

    expands = True
    cost = "linear"
    moves_text = True

    def infer(self, args: Arguments) -> list[ValueType]:
        repeats = shapes.shape_from(args, 1).dims
        rank = args.rank(0)
        if rank is not None:
            inference.require_shape(args, 1, (rank,))
        inference.require_within(args, 1, 0, math.inf, "a repeat")
        return [TensorType(args.element(0), shapes.tiled(args.shape(0), repeats))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.tile
