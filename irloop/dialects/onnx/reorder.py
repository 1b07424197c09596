"""ReverseSequence and Trilu in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import BF16, NARROW, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Lengths
from irloop.graph.op import Kernel
from irloop.graph.types import ValueType

__all__ = ["ReverseSequence", "Trilu"]


class ReverseSequence(OnnxOp, type="ReverseSequence", since=10, inputs=2):
    """Reverses the first elements of each batch item along `time_axis` (ReverseSequence-10, 28).

    Input 1 holds the number of these elements for each batch item. The batch and the time axis are
    0 and 1, in either order.
    """

    not_moved = NARROW | BF16

    meanings = (Lengths(1, data=0, axis=1),)

    cost = "linear"

    batch_axis: int = 1
    time_axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        if sorted((self.batch_axis, self.time_axis)) != [0, 1]:
            text = f"{self.batch_axis} and {self.time_axis}"
            raise args.error("batch_axis and time_axis are not the first two", "0 and 1", text)
        if args.rank(0) in (0, 1):
            raise args.error("the data has no batch and time", "rank 2 or more", str(args.shape(0)))
        inference.require_rank(args, 1, 1)
        if args.rank(0) is not None:
            batch, steps = (args.shape(0).dim(at) for at in (self.batch_axis, self.time_axis))
            inference.require_shape(args, 1, (batch,))
            inference.require_within(args, 1, 0, steps, "a length")
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.reorder.reverse_sequence(self.batch_axis, self.time_axis)


class Trilu(OnnxOp, type="Trilu", since=14, inputs=(1, 2)):
    """The upper or lower triangles of matrices; input 1 shifts the diagonal (Trilu-14)."""

    cost = "linear"

    upper: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        if rank is not None and rank < 2:
            raise args.error("the input holds no matrices", "rank 2 or more", str(args.shape(0)))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.reorder.triangle(self.upper)
