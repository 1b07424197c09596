"""Reductions in ONNX: axes are an attribute before opset 18 (13 for ReduceSum), then an input."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes
from irloop.graph.op import Kernel
from irloop.graph.types import Dim, TensorType, ValueType

__all__ = [
    "ByAttribute",
    "ByInput",
    "ReduceL11",
    "ReduceL21",
    "ReduceL118",
    "ReduceL218",
    "ReduceLogSum1",
    "ReduceLogSum18",
    "ReduceLogSumExp1",
    "ReduceLogSumExp18",
    "ReduceMax1",
    "ReduceMax18",
    "ReduceMean1",
    "ReduceMean18",
    "ReduceMin1",
    "ReduceMin18",
    "ReduceProd1",
    "ReduceProd18",
    "ReduceSum1",
    "ReduceSum13",
    "ReduceSumSquare1",
    "ReduceSumSquare18",
    "Reduction",
]


class Reduction(OnnxOp):
    """Base of reductions of data of any type; `function` is the kernel."""

    cost = "linear"

    function: ClassVar[str] = ""
    #: ReduceMax and ReduceMin take booleans since opset 20; irloop also accepts them in older
    #: files, with the same meaning.
    takes_booleans: ClassVar[bool] = False

    def _infer(self, args: Arguments, axes: tuple[int, ...] | None, keep: bool) -> list[ValueType]:
        if not self.takes_booleans:
            inference.numeric(args, 0)
        # ONNX does not allow an axis to be listed twice, so the number of computed axes determines
        # the rank.
        count = args.shape(1).count() if args.has(1) else None
        shape = inference.reduced(args, args.shape(0), axes, keep=keep, count=count)
        return [TensorType(args.element(0), shape)]


class ByAttribute(Reduction):
    """Base of reductions over the axes in an attribute; all axes if it is missing."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    def known_axes(self, args: Arguments) -> tuple[int, ...] | None:
        """The reduced axes, or None if the rank is unknown."""
        return self.axes or inference.all_axes(args)

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._infer(args, self.known_axes(args), self.keepdims)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        core = getattr(kernels.reduction, self.function)
        return kernels.reduction.by_attribute(core, self.axes or None, keep=self.keepdims)


class ByInput(Reduction):
    """Base of reductions over the axes in input 1.

    If the axes are missing or empty, all axes are reduced, or none with `noop_with_empty_axes`.
    """

    meanings = (Axes(1, data=0),)

    keepdims: bool = True
    noop_with_empty_axes: bool = False

    def known_axes(self, args: Arguments) -> tuple[int, ...] | None:
        """The reduced axes, or None if they are unknown."""
        axes = args.ints(1) if args.has(1) and args.shape(1).count() != 0 else ()
        if axes == ():
            return () if self.noop_with_empty_axes else inference.all_axes(args)
        return axes

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.has(1) and args.rank(1) not in (1, None):
            raise args.error(
                "axes are not a vector", "rank 1", f"rank {args.rank(1)}", kind="range"
            )
        return self._infer(args, self.known_axes(args), self.keepdims)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        core = getattr(kernels.reduction, self.function)
        return kernels.reduction.onnx_by_input(
            core, keep=self.keepdims, noop=self.noop_with_empty_axes
        )


class ReduceSum1(ByAttribute, type="ReduceSum", since=1, inputs=1):
    """The sum (ReduceSum-1, 11)."""

    function: ClassVar[str] = "total"


class ReduceSum13(ByInput, type="ReduceSum", since=13, inputs=(1, 2)):
    """The sum (ReduceSum-13)."""

    function: ClassVar[str] = "total"


class ReduceMean1(ByAttribute, type="ReduceMean", since=1, inputs=1):
    """The mean; for integers truncated toward zero (ReduceMean-1, 11, 13)."""

    function: ClassVar[str] = "mean"


class ReduceMean18(ByInput, type="ReduceMean", since=18, inputs=(1, 2)):
    """The mean; for integers truncated toward zero (ReduceMean-18)."""

    function: ClassVar[str] = "mean"


class ReduceProd1(ByAttribute, type="ReduceProd", since=1, inputs=1):
    """The product (ReduceProd-1, 11, 13)."""

    function: ClassVar[str] = "product"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.product_of_dims(args, self.known_axes(args))


class ReduceProd18(ByInput, type="ReduceProd", since=18, inputs=(1, 2)):
    """The product (ReduceProd-18)."""

    function: ClassVar[str] = "product"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.product_of_dims(args, self.known_axes(args))


class ReduceMax1(ByAttribute, type="ReduceMax", since=1, inputs=1):
    """The largest element (ReduceMax-1, 11, 12, 13)."""

    function: ClassVar[str] = "maximum"
    takes_booleans: ClassVar[bool] = True


class ReduceMax18(ByInput, type="ReduceMax", since=18, inputs=(1, 2)):
    """The largest element (ReduceMax-18, 20)."""

    function: ClassVar[str] = "maximum"
    takes_booleans: ClassVar[bool] = True


class ReduceMin1(ByAttribute, type="ReduceMin", since=1, inputs=1):
    """The smallest element (ReduceMin-1, 11, 12, 13)."""

    function: ClassVar[str] = "minimum"
    takes_booleans: ClassVar[bool] = True


class ReduceMin18(ByInput, type="ReduceMin", since=18, inputs=(1, 2)):
    """The smallest element (ReduceMin-18, 20)."""

    function: ClassVar[str] = "minimum"
    takes_booleans: ClassVar[bool] = True


class ReduceL11(ByAttribute, type="ReduceL1", since=1, inputs=1):
    """The sum of absolute values (ReduceL1-1, 11, 13)."""

    function: ClassVar[str] = "l1"


class ReduceL118(ByInput, type="ReduceL1", since=18, inputs=(1, 2)):
    """The sum of absolute values (ReduceL1-18)."""

    function: ClassVar[str] = "l1"


class ReduceL21(ByAttribute, type="ReduceL2", since=1, inputs=1):
    """The square root of the sum of squares (ReduceL2-1, 11, 13)."""

    function: ClassVar[str] = "l2"


class ReduceL218(ByInput, type="ReduceL2", since=18, inputs=(1, 2)):
    """The square root of the sum of squares (ReduceL2-18)."""

    function: ClassVar[str] = "l2"


class ReduceLogSum1(ByAttribute, type="ReduceLogSum", since=1, inputs=1):
    """The logarithm of the sum (ReduceLogSum-1, 11, 13)."""

    function: ClassVar[str] = "log_sum"


class ReduceLogSum18(ByInput, type="ReduceLogSum", since=18, inputs=(1, 2)):
    """The logarithm of the sum (ReduceLogSum-18, 28)."""

    function: ClassVar[str] = "log_sum"


class ReduceLogSumExp1(ByAttribute, type="ReduceLogSumExp", since=1, inputs=1):
    """The logarithm of the sum of exponentials (ReduceLogSumExp-1, 11, 13)."""

    function: ClassVar[str] = "log_sum_exp"


class ReduceLogSumExp18(ByInput, type="ReduceLogSumExp", since=18, inputs=(1, 2)):
    """The logarithm of the sum of exponentials (ReduceLogSumExp-18, 28)."""

    function: ClassVar[str] = "log_sum_exp"


class ReduceSumSquare1(ByAttribute, type="ReduceSumSquare", since=1, inputs=1):
    """The sum of squares (ReduceSumSquare-1, 11, 13)."""

    function: ClassVar[str] = "sum_square"


class ReduceSumSquare18(ByInput, type="ReduceSumSquare", since=18, inputs=(1, 2)):
    """The sum of squares (ReduceSumSquare-18)."""

    function: ClassVar[str] = "sum_square"
