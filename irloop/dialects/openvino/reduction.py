"""Reductions in OpenVINO, over a list of axes in input 1; an empty list reduces nothing."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, shapes
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes
from irloop.graph.op import Kernel
from irloop.graph.types import Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogicalAnd",
    "ReduceLogicalOr",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "Reduction",
]


class Reduction(OpenVinoOp):
    """Base of reductions over axes; `function` is the name of the kernel.

    The data may have any numeric type. The axes are a scalar or a list of integers. With
    `keep_dims` reduced dimensions are kept as ones, otherwise they are removed.
    """

    meanings = (Axes(1, data=0),)

    operands = "data: number | small, axes: integer -> number | small"
    cost = "linear"

    keep_dims: bool = False
    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(0), self._shape(args))]

    def _shape(self, args: Arguments) -> Shape:
        shapes.length_of(args, 1)
        return inference.reduced(args, args.shape(0), args.ints(1), keep=self.keep_dims)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        core = getattr(kernels.reduction, self.function)
        return kernels.reduction.by_input(core, keep=self.keep_dims)


class ReduceSum(Reduction, type="ReduceSum", since=1, inputs=2):
    """The sum (ReduceSum-1)."""

    function: ClassVar[str] = "total"


class ReduceMean(Reduction, type="ReduceMean", since=1, inputs=2):
    """The mean; for integers truncated toward zero (ReduceMean-1)."""

    function: ClassVar[str] = "mean"


class ReduceProd(Reduction, type="ReduceProd", since=1, inputs=2):
    """The product (ReduceProd-1)."""

    function: ClassVar[str] = "product"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.product_of_dims(args, args.ints(1))


class ReduceMax(Reduction, type="ReduceMax", since=1, inputs=2):
    """The largest element (ReduceMax-1)."""

    function: ClassVar[str] = "maximum"


class ReduceMin(Reduction, type="ReduceMin", since=1, inputs=2):
    """The smallest element (ReduceMin-1)."""

    function: ClassVar[str] = "minimum"


class ReduceL1(Reduction, type="ReduceL1", since=4, inputs=2):
    """The sum of absolute values (ReduceL1-4)."""

    function: ClassVar[str] = "l1"


class ReduceL2(Reduction, type="ReduceL2", since=4, inputs=2):
    """The square root of the sum of squares (ReduceL2-4)."""

    function: ClassVar[str] = "l2"


class LogicalReduction(Reduction):
    """Base of boolean reductions."""

    meanings = (Axes(1, data=0),)

    operands = "data: boolean, axes: integer -> boolean"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.BOOLEAN, self._shape(args))]


class ReduceLogicalAnd(LogicalReduction, type="ReduceLogicalAnd", since=1, inputs=2):
    """True where all elements are true (ReduceLogicalAnd-1)."""

    function: ClassVar[str] = "logical_and"


class ReduceLogicalOr(LogicalReduction, type="ReduceLogicalOr", since=1, inputs=2):
    """True where any element is true (ReduceLogicalOr-1)."""

    function: ClassVar[str] = "logical_or"
