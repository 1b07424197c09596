"""OpenVINO operations that sort, search and accumulate."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference, searches
from irloop.dialects.openvino.base import INDICES, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes, Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType, ValueType

__all__ = ["Bucketize", "CumSum", "NonZero", "SearchSorted", "TopK", "TopK3", "TopK11", "Unique"]


class _TopK(OpenVinoOp):
    """Base of TopK: the k best elements along an axis and their positions."""

    operands = (
        "data: T, k: integer -> values: T, indices: i32 | i64 where T: number | small | boolean"
    )
    shapes = "*, ()"
    cost = "linear"

    axis: int = attribute(absent="0")
    mode: str = attribute(words=("max", "min"), absent="max")
    sort: str = attribute(words=("index", "value", "none"), absent="none")
    index_element_type: ElementType = attribute(default=ElementType.I32, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "mode", "sort", "index_element_type")
        shape = searches.best(args, args.shape(0), self.axis, searches.counted(args, 1))
        return [
            TensorType(args.element(0), shape),
            TensorType(self.index_element_type, shape),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        largest, by_index = self.mode.lower() == "max", self.sort.lower() == "index"
        dtype = self.index_element_type.numpy()
        return kernels.search.topk_by_input(self.axis, largest, by_index, dtype)


class TopK(_TopK, type="TopK", since=1, inputs=2, outputs=2):
    """The k best elements along `axis` and their i32 or i64 positions (TopK-1).

    `mode` is max or min, `sort` none, index or value. "Best" means largest or smallest; of equal
    elements the one at the lower position ranks first.
    """

    operands = (
        "data: T, k: i8 | i32 | i64 -> values: T, indices: i32 where T: number | small | boolean"
    )
    meanings = (Sizes(1),)


class TopK3(_TopK, type="TopK", since=3, inputs=2, outputs=2):
    """The k best elements along `axis` and their i32 or i64 positions (TopK-3).

    k may have any integer type. The attributes have the meaning of TopK-1.
    """

    meanings = (Sizes(1),)


class TopK11(_TopK, type="TopK", since=11, inputs=2, outputs=2):
    """The k best elements along `axis` and their i32 or i64 positions (TopK-11).

    k may have any integer type. `stable` guarantees that equal elements keep their order; the other
    attributes have the meaning of TopK-1.
    """

    meanings = (Sizes(1),)

    stable: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.stable and self.sort.lower() == "none":
            raise args.error("stable needs a sort", "value or index", self.sort, kind="range")
        return super().infer(args)


class NonZero(OpenVinoOp, type="NonZero", since=3, inputs=1):
    """The coordinates of nonzero elements: [rank, count] (NonZero-3).

    A scalar counts as a list of one element.
    """

    operands = "data: number | boolean -> i32 | i64"
    cost = "linear"

    output_type: ElementType = attribute(default=ElementType.I64, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        rows = 1 if rank == 0 else rank
        return [TensorType(self.output_type, Shape.of(rows, None))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.nonzero(self.output_type.numpy(), scalar_is_list=True)


class CumSum(OpenVinoOp, type="CumSum", since=3, inputs=2):
    """Running sums along the axis in input 1 (CumSum-3).

    `exclusive` leaves out the element itself, `reverse` starts at the end. By the specification a
    missing axis is 0; OpenVINO 2026.4 refuses such a file.
    """

    meanings = (Axes(1, data=0),)

    operands = "data: T, axis: i32 | i64 -> T where T: number | boolean"
    cost = "linear"

    exclusive: bool = False
    reverse: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        axis = args.ints(1) if args.has(1) else (0,)
        if axis is not None and len(axis) != 1:
            raise args.error(
                "axis is not a single number", "one element", str(list(axis)), kind="range"
            )
        if axis is not None:
            inference.axis_in(args, axis[0], args.rank(0))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.running_sum(self.exclusive, self.reverse)


class Bucketize(OpenVinoOp, type="Bucketize", since=3, inputs=2):
    """The index of the bucket of each element, between sorted bounds (Bucketize-3).

    If an element equals a bound, it belongs to the bucket below the bound if `with_right_bound` is
    set, otherwise to the bucket above the bound.
    """

    operands = "data: number | small, buckets: number | small -> i32 | i64"
    cost = "linear"

    output_type: ElementType = attribute(default=ElementType.I64, needed=True, words=INDICES)
    with_right_bound: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        if args.rank(1) not in (None, 1):
            raise args.error("bounds are not a list", "rank 1", str(args.shape(1)))
        return [TensorType(self.output_type, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.bucketize(self.with_right_bound, self.output_type.numpy())


class SearchSorted(OpenVinoOp, type="SearchSorted", since=15, inputs=2):
    """The position at which each value would be inserted into its sorted row (SearchSorted-15).

    With `right_mode` the position is after equal elements, else before them.
    """

    operands = "sorted sequence: T, values: T -> i32 | i64 where T: any"
    cost = "linear"

    right_mode: bool = False
    output_type: ElementType = attribute(default=ElementType.I64, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        rows, values = args.shape(0), args.shape(1)
        if rows.rank == 0:
            raise args.error("the sorted sequence is a scalar", "rank 1 or more", str(rows))
        if None not in (rows.rank, values.rank) and rows.rank != 1:
            wanted = Shape((*(rows.dims or ())[:-1], values.dim(-1)))
            if wanted.refine(values) is None:
                raise args.error("the values do not match the rows", str(wanted), str(values))
        return [TensorType(self.output_type, values)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.search.search_sorted(self.right_mode, self.output_type.numpy())


class Unique(OpenVinoOp, type="Unique", since=10, inputs=(1, 2), outputs=4):
    """Distinct elements, or slices of the axis in input 1 (Unique-10).

    Outputs: the distinct values, the index of the first occurrence of each value, the index of the
    value of each element, and the number of occurrences of each value.
    """

    meanings = (Axes(1, data=0),)

    operands = (
        "data: any, axis?: i32 | i64 -> values: any, first indices: i32 | i64, "
        "inverse indices: i32 | i64, counts: i32 | i64"
    )
    shapes = "*, (1)"
    cost = "linear"

    sorted: bool = True
    index_element_type: ElementType = attribute(default=ElementType.I64, words=INDICES)
    count_element_type: ElementType = attribute(default=ElementType.I64, words=INDICES)

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        values, length = Shape((UNKNOWN_DIM,)), Shape.of(shape.count())
        if args.has(1):
            axis = args.ints(1)
            at = None if axis is None else inference.axis_in(args, axis[0], shape.rank)
            values = Shape(None) if at is None else shape.with_dim(at, UNKNOWN_DIM)
            length = Shape.of(None) if at is None else Shape((shape.dim(at),))
        some = Shape.of(None)
        return [
            TensorType(args.element(0), values),
            TensorType(self.index_element_type, some),
            TensorType(self.index_element_type, length),
            TensorType(self.count_element_type, some),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        index, count = self.index_element_type.numpy(), self.count_element_type.numpy()
        return kernels.search.unique_by_input(self.sorted, index, count)
