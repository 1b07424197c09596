"""OpenVINO operations that write elements by index."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import indexing
from irloop.dialects.openvino.base import REDUCTIONS, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Indices
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import TensorType, ValueType

__all__ = [
    "ScatterElementsUpdate",
    "ScatterElementsUpdate12",
    "ScatterNDUpdate",
    "ScatterNDUpdate15",
    "ScatterUpdate",
]


def _reduction(args: Arguments, reduction: str, known: tuple[str, ...]) -> None:
    if reduction.lower() not in known:
        raise args.error("reduction is not known", ", ".join(known), reduction, kind="range")


def _elements(args: Arguments) -> list[ValueType]:
    axis = args.ints(3)
    at = axis[0] if axis is not None and len(axis) == 1 else None
    return [TensorType(args.element(0), indexing.scattered_elements(args, at))]


class ScatterElementsUpdate(OpenVinoOp, type="ScatterElementsUpdate", since=3, inputs=4):
    """Writes updates into the data at indices along an axis; the last duplicate wins.

    Inputs: data, indices, updates, axis (ScatterElementsUpdate-3).
    """

    operands = "data: T, indices: integer | boolean, updates: T, axis: integer -> T where T: any"
    meanings = (
        Indices(1, data=0),
        Axes(3, data=0),
    )
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return _elements(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_elements_by_axis()


class ScatterElementsUpdate12(OpenVinoOp, type="ScatterElementsUpdate", since=12, inputs=4):
    """Writes updates into the data at indices along an axis (ScatterElementsUpdate-12).

    Inputs: data, indices, updates, axis. `reduction` combines all updates of one element: it is
    none (the last one counts), sum, prod, min, max or mean. With `use_init_val` the original
    element takes part in it.
    """

    operands = "data: T, indices: integer | boolean, updates: T, axis: integer -> T where T: any"
    meanings = (
        Indices(1, data=0),
        Axes(3, data=0),
    )
    cost = "linear"

    reduction: str = attribute(default="none", words=REDUCTIONS)
    use_init_val: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        _reduction(args, self.reduction, ("none", "sum", "prod", "min", "max", "mean"))
        return _elements(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_elements_by_axis(self.reduction.lower(), self.use_init_val)


class ScatterNDUpdate(OpenVinoOp, type="ScatterNDUpdate", since=4, inputs=3):
    """Writes updates into the data at coordinates (ScatterNDUpdate-3).

    The inputs are data, indices and updates. The specification names it version 3, but the first
    opset that has it is opset4.
    """

    operands = "data: T, indices: i32 | i64, updates: T -> T where T: any"
    meanings = (Indices(1, data=0),)
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), indexing.scattered_nd(args))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_nd()


class ScatterNDUpdate15(OpenVinoOp, type="ScatterNDUpdate", since=15, inputs=3):
    """Combines updates with elements of the data, at given coordinates (ScatterNDUpdate-15).

    `reduction` is none, sum, sub, prod, min or max. With none, an update replaces the element, as
    in ScatterNDUpdate-3.
    """

    operands = "data: T, indices: i32 | i64, updates: T -> T where T: any"
    meanings = (Indices(1, data=0),)
    cost = "linear"

    reduction: str = attribute(default="none", words=REDUCTIONS)

    def infer(self, args: Arguments) -> list[ValueType]:
        _reduction(args, self.reduction, ("none", "sum", "sub", "prod", "min", "max"))
        return [TensorType(args.element(0), indexing.scattered_nd(args))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_nd(self.reduction.lower())


class ScatterUpdate(OpenVinoOp, type="ScatterUpdate", since=3, inputs=4):
    """Replaces the slices of the data at indices along an axis (ScatterUpdate-3).

    Inputs: data, indices, updates in the shape of a gather's result, axis.
    """

    operands = "data: T, indices: integer, updates: T, axis: integer -> T where T: any"
    shapes = "*, *, *, (1)"
    meanings = (
        Indices(1, data=0),
        Axes(3, data=0),
    )
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        axis = args.ints(3)
        at = axis[0] if axis is not None and len(axis) == 1 else None
        expected = indexing.gathered(args, args.shape(0), args.shape(1), at)
        if at is not None and expected.refine(args.shape(2)) is None:
            raise args.error("updates have the wrong shape", str(expected), str(args.shape(2)))
        return [args.tensor(0)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.scatter.scatter_slices
