"""OpenVINO operations that read or change shapes."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, shapes
from irloop.dialects.openvino.base import BROADCASTS, INDICES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, NewShape, Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_SHAPE, Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "RESHAPING",
    "Broadcast",
    "Broadcast3",
    "Reshape",
    "ShapeOf",
    "ShapeOf3",
    "Squeeze",
    "Squeeze15",
    "Tile",
    "Transpose",
    "Unsqueeze",
]


def _shape_of(args: Arguments, element: ElementType) -> list[ValueType]:
    rank = args.rank(0)
    return [TensorType(element, Shape.of(rank))]


class ShapeOf(OpenVinoOp, type="ShapeOf", since=1, inputs=1):
    """The dimensions of a tensor of any type as i64 (ShapeOf-1)."""

    operands = "data: any -> i64"
    reads_shape_only = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        return _shape_of(args, ElementType.I64)

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.shape(0).dims

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.shape_of(ElementType.I64.numpy())


class ShapeOf3(OpenVinoOp, type="ShapeOf", since=3, inputs=1):
    """The dimensions of a tensor of any type as i32 or i64 (ShapeOf-3)."""

    operands = "data: any -> i32 | i64"
    reads_shape_only = True
    cost = "parts"

    output_type: ElementType = attribute(default=ElementType.I64, needed=True, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "output_type")
        return _shape_of(args, self.output_type)

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.shape(0).dims

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.shape_of(self.output_type.numpy())


class Reshape(OpenVinoOp, type="Reshape", since=1, inputs=2):
    """The elements of the first input in the shape given by the second (Reshape-1).

    In the second, -1 is inferred; with `special_zero`, 0 copies the dimension at its position.
    """

    meanings = (NewShape(1),)

    operands = "data: any, shape: integer -> any"
    reshapes = True
    cost = "parts"

    special_zero: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        pattern = shapes.shape_from(args, 1).dims
        shape = shapes.reshaped(args, args.shape(0), pattern, special_zero=self.special_zero)
        return [TensorType(args.element(0), shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.kept_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.reshape(self.special_zero)


def _axes(args: Arguments) -> tuple[int, ...] | None:
    """Return the axes in input 1: an empty tuple without this input, None if they are unknown."""
    if not args.has(1):
        return ()
    shapes.length_of(args, 1)
    return args.ints(1)


class _Squeeze(OpenVinoOp):
    """Base of the versions of Squeeze."""

    meanings = (Axes(1, data=0, single=True),)

    operands = "data: any, axes?: float | integer -> any"
    reshapes = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = shapes.squeezed(args, args.shape(0), _axes(args), lenient=True)
        return [TensorType(args.element(0), shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.kept_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.squeeze_lenient


class Squeeze(_Squeeze, type="Squeeze", since=1, inputs=(1, 2)):
    """Removes dimensions of size 1: the listed ones, or all if no list is given (Squeeze-1).

    A listed axis of another size is kept.
    """


class Squeeze15(_Squeeze, type="Squeeze", since=15, inputs=(1, 2)):
    """Removes dimensions of size 1: the listed ones, or all if no list is given (Squeeze-15).

    A listed axis of another size is kept. With `allow_axis_skip`, the rank of the result is unknown
    if a listed axis has an unknown size.
    """

    allow_axis_skip: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.allow_axis_skip and self._may_skip(args.shape(0), _axes(args)):
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        return super().infer(args)

    def _may_skip(self, shape: Shape, axes: tuple[int, ...] | None) -> bool:
        rank = shape.rank
        if rank is None or axes is None:
            return True
        return any(not isinstance(shape.dim(axis), int) for axis in axes if -rank <= axis < rank)


class Unsqueeze(OpenVinoOp, type="Unsqueeze", since=1, inputs=2):
    """Inserts dimensions of size 1 at the given positions of the result (Unsqueeze-1)."""

    meanings = (Axes(1, data=0, new=True),)

    operands = "data: any, axes: float | integer -> any"
    reshapes = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        count = shapes.length_of(args, 1)
        if count == 0:
            raise args.error("axes are empty", "at least one axis", "none", kind="range")
        shape = shapes.unsqueezed(args, args.shape(0), args.ints(1), count)
        return [TensorType(args.element(0), shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.kept_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.unsqueeze


class Transpose(OpenVinoOp, type="Transpose", since=1, inputs=2):
    """Permutes the axes; an empty order reverses them (Transpose-1)."""

    meanings = (Axes(1, data=0),)

    operands = "data: any, order: integer -> any"
    shapes = "*, ?"
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = shapes.transposed(args, args.shape(0), args.ints(1))
        return [TensorType(args.element(0), shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.kept_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.transpose


def _explicit(args: Arguments) -> Shape:
    target = shapes.shape_from(args, 1)
    mapping = args.ints(2)
    dims = args.shape(0).dims
    if mapping is None or dims is None or target.dims is None:
        return target
    if len(mapping) != len(dims):
        raise args.error("axes_mapping does not name each axis", str(len(dims)), str(mapping))
    for dim, axis in zip(dims, mapping, strict=True):
        at = inference.axis_in(args, axis, len(target.dims))
        wanted = target.dims[at] if at is not None else dim
        if isinstance(dim, int) and isinstance(wanted, int) and dim not in (1, wanted):
            raise args.error("shape cannot be broadcast", str(target), str(args.shape(0)))
    return target


class _Broadcast(OpenVinoOp):
    """Base of the versions of Broadcast."""

    expands = True

    operands = "data: any, target shape: integer, axes mapping?: any -> any"
    shapes = "*, ?"
    meanings = (Sizes(1),)
    cost = "linear"
    moves_text = True

    modes: ClassVar[tuple[str, ...]]
    mode: str
    axis: int

    def infer(self, args: Arguments) -> list[ValueType]:
        mode = self.mode.lower()
        if mode not in self.modes:
            expected = f"{', '.join(self.modes[:-1])} or {self.modes[-1]}"
            raise args.error("mode is not known", expected, self.mode, kind="range")
        return [TensorType(args.element(0), _broadcast_shape(args, mode, self.axis))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return shapes.repeated_dims(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return _broadcast_kernel(self.mode.lower(), self.axis)


class Broadcast(_Broadcast, type="Broadcast", since=1, inputs=(2, 3)):
    """Broadcasts the first input to the shape in the second (Broadcast-1).

    `mode` is numpy (aligned at the last dimension), none or explicit (input 2 maps the axes), or
    pdpd (the first axis is aligned with `axis`).
    """

    modes: ClassVar[tuple[str, ...]] = ("numpy", "none", "explicit", "pdpd")
    mode: str = attribute(default="none", words=BROADCASTS)
    axis: int = attribute(default=0, name="mode.auto_broadcast_axis")


class Broadcast3(_Broadcast, type="Broadcast", since=3, inputs=(2, 3)):
    """Broadcasts input 0 to the shape in input 1 (Broadcast-3).

    `mode` is one of:

    - numpy: the last axes of data and target shape are aligned;
    - explicit: input 2 holds, for each axis of the data, the axis of the target;
    - bidirectional: as numpy, but a target size of 1 also becomes the size of the data;
    - pdpd: the first axis of the data is aligned with axis `axis` of the target.
    """

    modes: ClassVar[tuple[str, ...]] = ("numpy", "explicit", "bidirectional", "pdpd")
    mode: str = attribute(default="numpy", words=BROADCASTS)
    axis: int = attribute(default=0, name="mode.mode.axis")


def _broadcast_shape(args: Arguments, mode: str, axis: int) -> Shape:
    if mode in ("none", "explicit"):
        if not args.has(2):
            raise args.error("axes_mapping is missing", "a third input", "two inputs")
        return _explicit(args)
    shape, target = args.shape(0), shapes.shape_from(args, 1)
    if mode == "pdpd":
        shape = inference.aligned(args, shape, target.rank, axis)
    return shapes.broadcast_to(args, shape, target, both_ways=mode == "bidirectional")


def _broadcast_kernel(mode: str, axis: int) -> Kernel:
    if mode in ("none", "explicit"):
        return kernels.shape.broadcast_explicit
    if mode == "pdpd":
        return kernels.shape.broadcast_pdpd(axis)
    if mode == "bidirectional":
        return kernels.shape.broadcast_bidirectional
    return kernels.shape.broadcast_numpy


class Tile(OpenVinoOp, type="Tile", since=1, inputs=2):
    """Repeats the tensor along each axis (Tile-1).

    The shorter of shape and repeats is extended by ones in front.
    """

    expands = True

    operands = "data: any, repeats: integer -> any"
    shapes = "*, ?"
    meanings = (Sizes(1),)
    cost = "linear"
    moves_text = True

    def infer(self, args: Arguments) -> list[ValueType]:
        repeats = shapes.shape_from(args, 1).dims
        return [TensorType(args.element(0), shapes.tiled(args.shape(0), repeats))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.shape.tile


#: Operations that return the elements of their first input in another shape.
RESHAPING = (Reshape, Squeeze, Squeeze15, Unsqueeze)
