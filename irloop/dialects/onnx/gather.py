"""ONNX operations that pick elements by index."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import indexing, inference
from irloop.dialects.onnx.base import NARROW, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Indices
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

__all__ = ["Compress", "Gather", "GatherElements", "GatherND", "GatherND12"]


class Gather(OnnxOp, type="Gather", since=1, inputs=2):
    """Picks the slices of the data at the given indices along `axis` (Gather-1, 11, 13).

    Negative indices count from the end.
    """

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "parts"

    axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        indexing.integers(args, 1)
        shape = indexing.gathered(args, args.shape(0), args.shape(1), self.axis)
        if args.rank(0) is not None:
            inference.require_indices(args, args.shape(0).dim(self.axis))
        return [TensorType(args.element(0), shape)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return indexing.gathered_list(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_along(self.axis)


class GatherElements(OnnxOp, type="GatherElements", since=11, inputs=2):
    """The element at each index along `axis` (GatherElements-11, 13)."""

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "parts"

    axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        indexing.integers(args, 1)
        shape = indexing.gathered_elements(args, self.axis)
        if args.rank(0) is not None:
            inference.require_indices(args, args.shape(0).dim(self.axis))
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_elements(self.axis)


class GatherND(OnnxOp, type="GatherND", since=11, inputs=2):
    """Slices at the coordinates in the last axis of the indices (GatherND-11)."""

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        indexing.integers(args, 1)
        shape = indexing.gathered_nd(args, 0)
        indexing.require_coordinates(args, 0)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_nd(0)


class GatherND12(OnnxOp, type="GatherND", since=12, inputs=2):
    """Slices at the coordinates in the last axis of the indices (GatherND-12, 13).

    The first `batch_dims` axes of data and indices are batch axes.
    """

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "parts"

    batch_dims: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        indexing.integers(args, 1)
        shape = indexing.gathered_nd(args, self.batch_dims)
        indexing.require_coordinates(args, self.batch_dims)
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.gather_nd(self.batch_dims)


class Compress(OnnxOp, type="Compress", since=9, inputs=2):
    """Slices of `axis` where a condition is true (Compress-9, 11, 28).

    Without an axis the data is flattened. The condition may be shorter than the axis.
    """

    cost = "linear"
    moves_text = True

    axis: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.boolean(args, 1)
        shape = args.shape(0)
        condition = args.constant(1)
        dim: Dim = (
            UNKNOWN_DIM if condition is None else sum(map(bool, condition.reshape(-1).tolist()))
        )
        if self.axis is None:
            return [TensorType(args.element(0), Shape((dim,)))]
        axis = inference.axis_in(args, self.axis, shape.rank)
        if axis is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        return [TensorType(args.element(0), shape.with_dim(axis, dim))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.gather.compress(self.axis)
