"""ONNX operations that write elements by index."""

from __future__ import annotations

from typing import Literal

from irloop import kernels
from irloop.dialects import indexing, inference
from irloop.dialects.onnx.base import NARROW, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Indices
from irloop.graph.op import Kernel
from irloop.graph.types import TensorType, ValueType

__all__ = [
    "Reduction",
    "Scatter",
    "ScatterElements",
    "ScatterElements16",
    "ScatterND",
    "ScatterND16",
]

Reduction = Literal["none", "add", "mul", "min", "max"]


def _elements(args: Arguments, axis: int) -> list[ValueType]:
    indexing.integers(args, 1)
    inference.same_element(args, 0, 2)
    shape = indexing.scattered_elements(args, axis)
    if shape.dims is not None:
        inference.require_indices(args, shape.dim(axis))
    return [TensorType(args.element(0), shape)]


def _coordinates(args: Arguments) -> list[ValueType]:
    indexing.integers(args, 1)
    inference.same_element(args, 0, 2)
    shape = indexing.scattered_nd(args)
    indexing.require_coordinates(args, 0)
    return [TensorType(args.element(0), shape)]


class Scatter(OnnxOp, type="Scatter", since=9, until=10, inputs=3):
    """The old name of ScatterElements (Scatter-9)."""

    meanings = (Indices(1, data=0),)

    cost = "linear"

    axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        return _elements(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_elements(self.axis)


class ScatterElements(OnnxOp, type="ScatterElements", since=11, inputs=3):
    """Writes updates into the data at indices along `axis` (ScatterElements-11, 13)."""

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "linear"

    axis: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        return _elements(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_elements(self.axis)


class ScatterElements16(OnnxOp, type="ScatterElements", since=16, inputs=3):
    """Writes updates into the data at indices along `axis`, or combines them with it (since 16).

    The `reduction` that combines an update with the old element is none (replace it), add or mul.
    Opset 18 adds min and max.
    """

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "linear"

    axis: int = 0
    reduction: Reduction = "none"

    def infer(self, args: Arguments) -> list[ValueType]:
        return _elements(args, self.axis)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_elements(self.axis, self.reduction)


class ScatterND(OnnxOp, type="ScatterND", since=11, inputs=3):
    """Writes updates into the data at coordinates (ScatterND-11, 13)."""

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return _coordinates(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_nd()


class ScatterND16(OnnxOp, type="ScatterND", since=16, inputs=3):
    """Writes updates into the data at coordinates, or combines them with it (ScatterND-16, 18).

    The `reduction` that combines an update with the old element is none (replace it), add or mul;
    since opset 18 it may also be min or max.
    """

    not_moved = NARROW

    meanings = (Indices(1, data=0),)

    cost = "linear"

    reduction: Reduction = "none"

    def infer(self, args: Arguments) -> list[ValueType]:
        return _coordinates(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_nd(self.reduction)
