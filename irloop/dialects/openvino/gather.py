"""OpenVINO operations that pick elements by index."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import indexing, inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Indices
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, TensorType, ValueType

__all__ = [
    "GATHERS",
    "Gather",
    "Gather7",
    "Gather8",
    "GatherElements",
    "GatherND",
    "GatherND8",
    "GatherTree",
]


def _gather(args: Arguments, batch_dims: int = 0) -> list[ValueType]:
    axis = args.ints(2)
    if axis is not None and len(axis) != 1:
        raise args.error(
            "axis is not a single number", "one element", str(list(axis)), kind="range"
        )
    at = None if axis is None else axis[0]
    shape = indexing.gathered(args, args.shape(0), args.shape(1), at, batch_dims)
    return [TensorType(args.element(0), shape)]


def _gather_list(args: Arguments) -> tuple[Dim, ...] | None:
    axis = args.ints(2)
    return None if axis is None or len(axis) != 1 else indexing.gathered_list(args, axis[0])


class Gather(OpenVinoOp, type="Gather", since=1, inputs=3):
    """Slices at indices along an axis; inputs data, indices, axis (Gather-1)."""

    operands = "data: any, indices: integer, axis: integer -> any"
    meanings = (
        Indices(1, data=0),
        Axes(2, data=0),
    )
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        return _gather(args)

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return _gather_list(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_plain


class _BatchedGather(OpenVinoOp):
    """Base of the versions of Gather that have batch axes."""

    operands = Gather.operands
    meanings = Gather.meanings
    cost = "parts"

    batch_dims: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        return _gather(args, self.batch_dims)

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return _gather_list(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_axis(self.batch_dims)


class Gather7(_BatchedGather, type="Gather", since=7, inputs=3):
    """Slices at indices along an axis; inputs data, indices, axis (Gather-7).

    The first `batch_dims` axes of data and indices are batch axes.
    """


class Gather8(_BatchedGather, type="Gather", since=8, inputs=3):
    """Slices at indices along an axis; negative indices count from the end (Gather-8).

    Inputs: data, indices, axis. The first `batch_dims` axes of data and indices are batch axes.
    """


class GatherElements(OpenVinoOp, type="GatherElements", since=6, inputs=2):
    """The element at each index along `axis` (GatherElements-6)."""

    operands = "data: any, indices: i32 | i64 -> any"
    meanings = (Indices(1, data=0),)
    cost = "parts"

    axis: int = attribute(absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        gathered = indexing.gathered_elements(args, self.axis)
        axis = inference.axis_in(args, self.axis, args.rank(0))
        others = args.shape(0) if axis is None else args.shape(0).with_dim(axis, UNKNOWN_DIM)
        if others.refine(args.shape(1)) is None:
            expected = f"the data's sizes {args.shape(0)} on axes other than {axis}"
            raise args.error(
                "the shape of the indices does not match the data", expected, str(args.shape(1))
            )
        return [TensorType(args.element(0), gathered)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_elements(self.axis)


class GatherND(OpenVinoOp, type="GatherND", since=5, inputs=2):
    """Slices at coordinates (GatherND-5).

    The first `batch_dims` axes are batch axes; the result merges them into one.
    """

    operands = "data: any, indices: integer -> any"
    meanings = (Indices(1, data=0),)
    cost = "parts"

    batch_dims: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = indexing.gathered_nd(args, self.batch_dims, merge=True)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_nd(self.batch_dims, merge=True)


class GatherND8(OpenVinoOp, type="GatherND", since=8, inputs=2):
    """Slices at the coordinates in the last axis of the indices (GatherND-8).

    The first `batch_dims` axes are batch axes. The result keeps them, whereas GatherND-5 merges
    them into one.
    """

    operands = "data: any, indices: integer -> any"
    meanings = (Indices(1, data=0),)
    cost = "parts"

    batch_dims: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), indexing.gathered_nd(args, self.batch_dims))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_nd(self.batch_dims)


class GatherTree(OpenVinoOp, type="GatherTree", since=1, inputs=4):
    """The complete beams, assembled from the steps of a beam search (GatherTree-1).

    Inputs: ids and parents [steps, batch, beams], the longest length of each batch item, and
    the end token.
    """

    operands = (
        "step ids: T, parent ids: T, max sequence length: T, end token: T -> T where T: number"
    )
    shapes = "S N K, S N K, N, ()"
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args)
        shape = args.shape(0).refine(args.shape(1))
        if shape is None:
            raise args.error("ids and parents differ", str(args.shape(0)), str(args.shape(1)))
        if shape.rank not in (None, 3):
            raise args.error("ids must be [steps, batch, beams]", "rank 3", str(shape))
        return [TensorType(element, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_tree


#: The versions of Gather.
GATHERS = (Gather, Gather7, Gather8)
