"""OpenVINO operations on embedding bags, segments and sparse rows."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import searches
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Indices
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Dim,
    ElementType,
    Shape,
    TensorType,
    ValueType,
)

__all__ = [
    "EmbeddingBagOffsets",
    "EmbeddingBagOffsetsSum",
    "EmbeddingBagPacked",
    "EmbeddingBagPackedSum",
    "EmbeddingSegmentsSum",
    "SegmentMax",
    "SparseFillEmptyRows",
]


def _rows(args: Arguments, count: Dim) -> list[ValueType]:
    """Return the type of a tensor of `count` rows of the table, which is input 0.

    Raises:
        InferenceError: when the table is a scalar.
    """
    table = args.shape(0)
    if table.dims is None:
        return [TensorType(args.element(0), UNKNOWN_SHAPE)]
    if not table.dims:
        raise args.error("the table has no rows", "rank 1 or more", str(table))
    return [TensorType(args.element(0), table.with_dim(0, count))]


def _check_reduction(args: Arguments, reduction: str) -> None:
    if reduction.lower() not in ("sum", "mean"):
        raise args.error("reduction is not known", "sum or mean", reduction, kind="range")


class EmbeddingBagOffsetsSum(OpenVinoOp, type="EmbeddingBagOffsetsSum", since=3, inputs=(3, 5)):
    """The sum of table rows for each bag (EmbeddingBagOffsetsSum-3).

    Inputs: table, indices, the position of each bag's first index, optionally the index of the row
    that an empty bag gets (-1 or absent: zeros) and a weight for each index.
    """

    operands = (
        "table: T, indices: I, offsets: I, default index?: I, weights?: T -> T "
        "where T: number | boolean, I: i32 | i64"
    )
    shapes = "*, N, ?, (), N"
    meanings = (Indices(1, data=0),)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _rows(args, args.shape(2).dim(0))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.bags_by_offsets(False)


class EmbeddingBagOffsets(OpenVinoOp, type="EmbeddingBagOffsets", since=15, inputs=(3, 5)):
    """The sum or mean of table rows for each bag, as `reduction` tells (EmbeddingBagOffsets-15).

    The inputs are those of EmbeddingBagOffsetsSum-3: table, indices, the position of each bag's
    first index, optionally the row of empty bags and a weight for each index.
    """

    operands = (
        "table: T, indices: I, offsets: I, default index?: I, weights?: T -> T "
        "where T: number | boolean, I: i32 | i64"
    )
    shapes = "*, N, ?, (), N"

    reduction: str = "sum"

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_reduction(args, self.reduction)
        return _rows(args, args.shape(2).dim(0))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.bags_by_offsets(self.reduction.lower() == "mean")


class EmbeddingBagPackedSum(OpenVinoOp, type="EmbeddingBagPackedSum", since=3, inputs=(2, 3)):
    """The sum of table rows for each row of indices (EmbeddingBagPackedSum-3).

    Inputs: table, indices [batch, size], optionally weights of the same shape.
    """

    operands = "table: T, indices: i32 | i64, weights?: T -> T where T: number | boolean"
    shapes = "*, B N, B N"
    meanings = (Indices(1, data=0),)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _rows(args, args.shape(1).dim(0))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.packed_bags(False)


class EmbeddingBagPacked(OpenVinoOp, type="EmbeddingBagPacked", since=15, inputs=(2, 3)):
    """The sum or mean of table rows for each row of indices (EmbeddingBagPacked-15).

    `reduction` is sum or mean. Inputs: table, indices [batch, size], optionally weights of the same
    shape.
    """

    operands = "table: T, indices: i32 | i64, weights?: T -> T where T: number | boolean"
    shapes = "*, B N, B N"

    reduction: str = "sum"

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_reduction(args, self.reduction)
        return _rows(args, args.shape(1).dim(0))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.packed_bags(self.reduction.lower() == "mean")


class EmbeddingSegmentsSum(OpenVinoOp, type="EmbeddingSegmentsSum", since=3, inputs=(4, 6)):
    """The sum of table rows for each segment (EmbeddingSegmentsSum-3).

    Inputs: table, indices, the segment of each index, the number of segments, optionally the index
    of the row that an empty segment gets (-1 or absent: zeros) and a weight for each index.
    """

    operands = (
        "table: T, indices: I, segment ids: I, segments: I, default index?: I, weights?: T -> T "
        "where T: number | boolean, I: i32 | i64"
    )
    shapes = "*, N, N, (), (), N"
    meanings = (Indices(1, data=0),)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _rows(args, searches.counted(args, 3))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.bags_by_segments


class SegmentMax(OpenVinoOp, type="SegmentMax", since=16, inputs=(2, 3)):
    """Elementwise maximum over the slices of each segment (SegmentMax-16).

    Inputs: data, the sorted segment numbers of the slices, optionally the number of segments. An
    empty segment gives zero or the lowest number, depending on `fill_mode`.
    """

    operands = (
        "data: number | small | boolean, segment ids: i32 | i64, segments?: i32 | i64 "
        "-> number | small | boolean"
    )
    shapes = "S ..., S, ()"

    fill_mode: str = attribute(absent="zero")

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.fill_mode.lower() not in ("zero", "lowest"):
            raise args.error(
                "fill_mode is not known", "zero or lowest", self.fill_mode, kind="range"
            )
        segments = args.ints(1)
        if segments is not None and list(segments) != sorted(segments):
            raise args.error("segments are not sorted", "ascending numbers", str(segments))
        return _rows(args, self._count(args))

    def _count(self, args: Arguments) -> Dim:
        if args.has(2):
            return searches.counted(args, 2)
        segments = args.ints(1)
        return UNKNOWN_DIM if segments is None else max(segments, default=-1) + 1

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.segment_maximum(self.fill_mode.lower() == "lowest")


class SparseFillEmptyRows(OpenVinoOp, type="SparseFillEmptyRows", since=16, inputs=4, outputs=3):
    """Adds a default value to each empty row of a sparse matrix (SparseFillEmptyRows-16).

    Inputs: values, dense shape, indices [count, 2], the default value. Outputs: indices, values,
    which rows were empty.
    """

    operands = (
        "values: any, dense shape: I, indices: I, default value: any "
        "-> indices: I, values: any, empty rows: boolean where I: i32 | i64"
    )
    shapes = "V, 2, V 2, ()"

    def infer(self, args: Arguments) -> list[ValueType]:
        element = args.element(0)
        dense = args.dims(1)
        rows = UNKNOWN_DIM if dense is None else dense[0]
        return [
            TensorType(args.element(2), Shape.of(None, 2)),
            TensorType(element, Shape.of(None)),
            TensorType(ElementType.BOOLEAN, Shape((rows,))),
        ]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.embedding.sparse_fill_empty_rows
