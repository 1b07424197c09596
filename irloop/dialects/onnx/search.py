"""ONNX operations that sort, search and accumulate."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference, searches
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "ArgMax",
    "ArgMax12",
    "ArgMin",
    "ArgMin12",
    "CumProd",
    "CumSum",
    "NonZero",
    "TopK1",
    "TopK10",
    "TopK11",
    "Unique",
]

I64 = ElementType.I64


def _best(args: Arguments, axis: int, k: Dim) -> list[ValueType]:
    inference.numeric(args, 0)
    shape = searches.best(args, args.shape(0), axis, k)
    return [TensorType(args.element(0), shape), TensorType(I64, shape)]


class TopK1(OnnxOp, type="TopK", since=1, inputs=1, outputs=2):
    """The `k` largest elements along `axis` and their positions (TopK-1)."""

    cost = "linear"

    k: int
    axis: int = -1

    def infer(self, args: Arguments) -> list[ValueType]:
        return _best(args, self.axis, self.k)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run, k = kernels.search.topk(self.axis, True, False, I64.numpy()), self.k
        return lambda data: run(data, k)


class TopK10(OnnxOp, type="TopK", since=10, inputs=2, outputs=2):
    """The largest elements along `axis` and their positions; input 1 is their number (TopK-10)."""

    shapes = "*, 1"
    meanings = (Sizes(1),)

    cost = "linear"

    axis: int = -1

    def infer(self, args: Arguments) -> list[ValueType]:
        return _best(args, self.axis, searches.counted(args, 1))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.topk_by_input(self.axis, True, False, I64.numpy())


class TopK11(OnnxOp, type="TopK", since=11, inputs=2, outputs=2):
    """The k best elements along `axis` and their positions (TopK-11, 24).

    The best are the largest, or the smallest if `largest` is 0. With `sorted` they are ordered from
    best to worst. Of equal elements the one at the lower position ranks first.
    """

    shapes = "*, 1"
    meanings = (Sizes(1),)

    cost = "linear"

    axis: int = -1
    largest: bool = True
    sorted: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        return _best(args, self.axis, searches.counted(args, 1))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.topk_by_input(self.axis, self.largest, False, I64.numpy())


class _ArgExtreme(OnnxOp):
    """Base of ArgMax and ArgMin, which return the position of an extreme element along an axis.

    `largest` is true for ArgMax.
    """

    cost = "linear"

    axis: int = 0
    keepdims: bool = True
    largest: ClassVar[bool] = True

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args, 0)
        shape = inference.reduced(args, args.shape(0), (self.axis,), keep=self.keepdims)
        return [TensorType(I64, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.arg_extreme(self.axis, self.largest, self.keepdims, False)


class _ArgExtreme12(_ArgExtreme):
    """Base of the ArgMax and ArgMin versions that have `select_last_index`.

    The attribute selects the last of equal elements.
    """

    select_last_index: bool = False

    def kernel(self, n_outputs: int = 1) -> Kernel:
        last = self.select_last_index
        return kernels.search.arg_extreme(self.axis, self.largest, self.keepdims, last)


class ArgMax(_ArgExtreme, type="ArgMax", since=1, inputs=1):
    """The i64 position of the first largest element along `axis` (ArgMax-1, 11)."""


class ArgMax12(_ArgExtreme12, type="ArgMax", since=12, inputs=1):
    """The i64 position of the first or last largest element along `axis` (ArgMax-12, 13)."""


class ArgMin(_ArgExtreme, type="ArgMin", since=1, inputs=1):
    """The i64 position of the first smallest element along `axis` (ArgMin-1, 11)."""

    largest: ClassVar[bool] = False


class ArgMin12(_ArgExtreme12, type="ArgMin", since=12, inputs=1):
    """The i64 position of the first or last smallest element along `axis` (ArgMin-12, 13)."""

    largest: ClassVar[bool] = False


class NonZero(OnnxOp, type="NonZero", since=9, inputs=1):
    """The i64 coordinates of nonzero elements: [rank, count] (NonZero-9, 13)."""

    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(I64, Shape.of(args.rank(0), None))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.nonzero(I64.numpy(), scalar_is_list=False)


class _Cumulative(OnnxOp):
    """Base of operations that accumulate along an axis, whose number is input 1.

    `exclusive` leaves out the element itself, `reverse` starts at the end.
    """

    meanings = (Axes(1, data=0),)

    cost = "linear"

    exclusive: bool = False
    reverse: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args, 0)
        axis = args.ints(1)
        if axis is not None:
            inference.axis_in(args, axis[0], args.rank(0))
        return inference.same_as_first(args)


class CumSum(_Cumulative, type="CumSum", since=11, inputs=2):
    """Running sums along the axis in input 1 (CumSum-11, 14)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.running_sum(self.exclusive, self.reverse)


class CumProd(_Cumulative, type="CumProd", since=26, inputs=2):
    """Running products along the axis in input 1 (CumProd-26)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.running_product(self.exclusive, self.reverse)


class Unique(OnnxOp, type="Unique", since=11, inputs=1, outputs=None):
    """The distinct elements of a tensor, or its distinct slices along `axis` (Unique-11, 28).

    Output 0 holds the distinct values. Output 1 holds the index in the input at which each of them
    first occurs. Output 2 holds, for each element or slice of the input, the index of its value in
    output 0. Output 3 holds the number of occurrences of each value. Only output 0 is required.
    """

    cost = "linear"

    axis: int | None = None
    in_order: bool = attribute(default=True, name="sorted")

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        count = shape.count()
        values, length = Shape.of(None), Shape.of(count)
        if self.axis is not None:
            at = inference.axis_in(args, self.axis, shape.rank)
            values = Shape(None) if at is None else shape.with_dim(at, UNKNOWN_DIM)
            length = Shape.of(None) if at is None else Shape((shape.dim(at),))
        some = Shape.of(None)
        types: list[ValueType] = [
            TensorType(args.element(0), values),
            TensorType(I64, some),
            TensorType(I64, length),
            TensorType(I64, some),
        ]
        return types[: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        run = kernels.search.unique(self.axis, self.in_order, I64.numpy(), I64.numpy())
        if n_outputs == 1:
            return lambda data: run(data)[0]
        return lambda data: run(data)[:n_outputs]
