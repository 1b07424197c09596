"""OpenVINO operations that reverse and roll axes."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Lengths
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ValueType

__all__ = ["Reverse", "ReverseSequence", "Roll"]


class Reverse(OpenVinoOp, type="Reverse", since=1, until=1, inputs=2):
    """Reverses the elements along axes, given as a list or as a mask of all axes (Reverse-1)."""

    meanings = (Axes(1, data=0),)

    operands = "data: any, axes or mask: integer | boolean -> any"
    shapes = "*, ?"
    cost = "linear"
    moves_text = True

    mode: str = attribute(absent="index")

    def infer(self, args: Arguments) -> list[ValueType]:
        mode = self.mode.lower()
        if mode not in ("index", "mask"):
            raise args.error("mode is not known", "index or mask", self.mode, kind="range")
        axes = args.ints(1) if mode == "index" else None
        for axis in axes or ():
            inference.axis_in(args, axis, args.rank(0))
        check = inference.boolean if mode == "mask" else inference.integers
        check(args, 1)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.mode.lower() == "mask":
            return kernels.reorder.reverse_masked
        return kernels.reorder.reverse_axes


class ReverseSequence(OpenVinoOp, type="ReverseSequence", since=1, inputs=2):
    """Reverses the first elements along `seq_axis`; input 1 holds their number per batch item.

    The lengths may be floats (ReverseSequence-1).
    """

    operands = "data: any, sequence lengths: number | small -> any"
    shapes = "..., ?"
    meanings = (Lengths(1, data=0, axis=1),)
    cost = "linear"

    batch_axis: int = 0
    seq_axis: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        batch = inference.axis_in(args, self.batch_axis, rank)
        if batch is not None and batch == inference.axis_in(args, self.seq_axis, rank):
            raise args.error("batch_axis and seq_axis are the same", "two axes", str(batch))
        if batch is not None:
            inference.require_shape(args, 1, (args.shape(0).dim(batch),))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.reorder.reverse_sequence(self.batch_axis, self.seq_axis)


class Roll(OpenVinoOp, type="Roll", since=7, inputs=3):
    """Rotates elements along axes; inputs data, shifts, axes (Roll-7).

    A single shift applies to all axes; the shifts of an axis that is listed twice add up.
    """

    meanings = (Axes(2, data=0),)

    operands = "data: any, shift: i32 | i64, axes: i32 | i64 -> any"
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        for axis in args.ints(2) or ():
            inference.axis_in(args, axis, args.rank(0))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.reorder.roll
