"""Padding in ONNX."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, pads, shapes
from irloop.dialects.onnx.base import BF16, NARROW, SHORTS, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Meaning, Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_SHAPE, Shape, TensorType, ValueType

__all__ = ["CenterCropPad", "Pad1", "Pad2", "Pad11", "Pad18", "Pad19"]

MODES = ("constant", "reflect", "edge")


def _check_mode(args: Arguments, mode: str, modes: tuple[str, ...] = MODES) -> None:
    if mode not in modes:
        raise args.error("mode is not known", ", ".join(modes), mode, kind="range")


class _FixedPad(OnnxOp):
    """Base of the Pad versions that take the pads from an attribute, not from an input."""

    not_moved = NARROW | BF16 | SHORTS
    expands = True

    pads: tuple[int, ...]
    mode: str = "constant"
    value: float = 0.0

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_mode(args, self.mode)
        shape = args.shape(0)
        if shape.dims is None:
            return [TensorType(args.element(0), Shape.of_rank(len(self.pads) // 2))]
        found = pads.padded_axes(args, shape, self.pads, inference.all_axes(args))
        return [TensorType(args.element(0), found)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.padding.pad_fixed(self.pads, self.mode, self.value)


class Pad1(_FixedPad, type="Pad", since=1, inputs=1):
    """Adds elements at both ends of each axis (Pad-1)."""

    pads: tuple[int, ...] = attribute(name="paddings")


class Pad2(_FixedPad, type="Pad", since=2, inputs=1):
    """Adds elements at both ends of each axis, or removes elements where a pad is negative (Pad-2).

    `pads` lists all begins, then all ends; `mode` is constant, reflect or edge.
    """


def _by_input(args: Arguments, axes: tuple[int, ...] | None, mode: str) -> list[ValueType]:
    element = inference.same_element(args, 0, 2) if args.has(2) else args.element(0)
    if args.rank(1) not in (1, None):
        raise args.error("the pads are not a list", "rank 1", f"rank {args.rank(1)}")
    numbers = args.dims(1)
    shape = args.shape(0)
    length = shapes.length_of(args, 1)
    if shape.dims is None and length is not None and not args.has(3):
        return [TensorType(element, Shape.of_rank(length // 2))]
    if shape.dims is None:
        return [TensorType(element, UNKNOWN_SHAPE)]
    if axes is not None:
        places = [inference.axis_in(args, axis, shape.rank) or 0 for axis in axes]
        if len(set(places)) != len(places):
            raise args.error("an axis is named twice", "axes that differ", str(axes))
        pads.require_source(args, shape, numbers or (), places, mode)
    return [TensorType(element, pads.padded_axes(args, shape, numbers, axes))]


class _PadByInput(OnnxOp):
    """Base of the Pad versions whose pads are an input."""

    not_moved = NARROW | BF16 | SHORTS

    shapes = "*, *, (1), ?"
    meanings: ClassVar[tuple[Meaning, ...]] = (Sizes(1), Sizes(2), Axes(3, data=0))

    expands = True

    modes: ClassVar[tuple[str, ...]] = MODES
    mode: str = "constant"

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_mode(args, self.mode, self.modes)
        return _by_input(args, args.ints(3) if args.has(3) else inference.all_axes(args), self.mode)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.padding.pad_by_input(self.mode)


class Pad11(_PadByInput, type="Pad", since=11, inputs=(2, 3)):
    """Adds elements at both ends of each axis; negative pads remove elements (Pad-11, 13).

    Inputs: data, pads (all begins, then all ends) and the value. `mode` is constant, reflect or
    edge.
    """

    shapes = "*, *, (1)"
    meanings = (Sizes(1), Sizes(2))


class Pad18(_PadByInput, type="Pad", since=18, inputs=(2, 4)):
    """Adds elements at both ends of the axes; negative pads remove elements (Pad-18).

    Inputs: data, pads (all begins, then all ends), the value, and optionally the axes that the pads
    belong to. `mode` is constant, reflect or edge.
    """


class Pad19(_PadByInput, type="Pad", since=19, inputs=(2, 4)):
    """Adds elements at both ends of the axes; negative pads remove them (Pad-19, 21, 23, 24, 25).

    The inputs are those of Pad-18. `mode` is constant, reflect, edge or wrap.
    """

    modes: ClassVar[tuple[str, ...]] = (*MODES, "wrap")


class CenterCropPad(OnnxOp, type="CenterCropPad", since=18, inputs=2):
    """Crops or zero-pads around the centre to the sizes in input 1 (CenterCropPad-18)."""

    meanings = (Sizes(1),)

    expands = True
    cost = "linear"

    axes: tuple[int, ...] | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        shape, sizes = args.shape(0), args.dims(1)
        if shape.dims is None:
            return [TensorType(args.element(0), shape)]
        rank = len(shape.dims)
        axes = tuple(range(rank)) if self.axes is None else self.axes
        count = args.shape(1).count()
        if count not in (None, len(axes)):
            raise args.error("there must be one size per axis", str(len(axes)), str(count))
        places = [inference.axis_in(args, axis, rank) for axis in axes]
        if len(set(places)) != len(places):
            raise args.error("an axis is named twice", "axes that differ", str(axes))
        if sizes is None or len(sizes) != len(axes):
            return [TensorType(args.element(0), Shape.of_rank(rank))]
        for at, size in zip(places, sizes, strict=True):
            assert at is not None
            shape = shape.with_dim(at, size)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.padding.center_crop_pad(self.axes)
