"""Exports EmbeddingBag and segment operations to ONNX, which has none of them.

These are the EmbeddingBag operations, EmbeddingSegmentsSum, SegmentMax and SparseFillEmptyRows.
"""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.tensors.scatter_parts import neutral, rows_by_comparing, rows_table
from irloop.dialects.onnx import comparison as onnx_comparison
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.onnx import scatter as onnx_scatter
from irloop.dialects.onnx import search as onnx_search
from irloop.dialects.openvino import embedding as ov
from irloop.dialects.writing.known_inputs import ints, needed_rank
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.EmbeddingBagPackedSum)
def export_packed_sum(
    c: Export,
    op: ov.EmbeddingBagPackedSum,
    table: Value,
    indices: Value,
    weights: Value | None = None,
) -> Value:
    return _packed(c, "Sum", table, indices, weights)


@exports(ov.EmbeddingBagPacked)
def export_packed(
    c: Export,
    op: ov.EmbeddingBagPacked,
    table: Value,
    indices: Value,
    weights: Value | None = None,
) -> Value:
    kind = "Mean" if op.reduction.lower() == "mean" else "Sum"
    return _packed(c, kind, table, indices, weights)


def _packed(c: Export, kind: str, table: Value, indices: Value, weights: Value | None) -> Value:
    """Compute an EmbeddingBagPacked: gather the table rows of each bag, weight and reduce them.

    `indices` is [bags, indices per bag]. `kind` is the reduction; `weights` may be None.
    """
    rows = _rows(c, table, indices, weights, 2)
    return c.reduce(kind, rows, [1], keep=False)


def _rows(c: Export, table: Value, indices: Value, weights: Value | None, axes: int) -> Value:
    rows = c.gather(table, c.as_i64(indices), 0)
    if weights is None:
        return rows
    rank = needed_rank(c, table, "table") - 1 + axes
    if rank > axes:
        weights = c.unsqueeze(weights, list(range(axes, rank)))
    return c.multiply(rows, weights)


@exports(ov.EmbeddingBagOffsetsSum)
def export_offsets_sum(
    c: Export,
    op: ov.EmbeddingBagOffsetsSum,
    table: Value,
    indices: Value,
    offsets: Value,
    default: Value | None = None,
    weights: Value | None = None,
) -> Value:
    return _by_offsets(c, False, (table, indices, offsets), default, weights)


@exports(ov.EmbeddingBagOffsets)
def export_offsets(
    c: Export,
    op: ov.EmbeddingBagOffsets,
    table: Value,
    indices: Value,
    offsets: Value,
    default: Value | None = None,
    weights: Value | None = None,
) -> Value:
    mean = op.reduction.lower() == "mean"
    return _by_offsets(c, mean, (table, indices, offsets), default, weights)


def _by_offsets(
    c: Export,
    mean: bool,
    inputs: tuple[Value, Value, Value],
    default: Value | None,
    weights: Value | None,
) -> Value:
    """Return the sum, or with `mean` the mean, of the table rows that each bag selects.

    `inputs` are the table, the indices of table rows, and the offsets. Bag i consists of the
    indices from position offsets[i] up to the start of the next bag. `weights` holds a factor for
    each index. An empty bag gets row `default` of the table, or zeros if `default` is None or -1.
    """
    table, indices, offsets = inputs
    starts = c.as_list(offsets)
    count = c.size_of(c.as_list(indices), 0)
    positions = c.unsqueeze(c.numbers_below(count), [1])
    reached = c.logical_not(c.less(positions, c.unsqueeze(starts, [0])))
    number = c.reduce("Sum", c.convert(reached, ElementType.I64), [1], keep=False)
    segments = c.subtract(number, c.i64(1))
    bags = c.sizes_of(starts, [0])
    rows = _rows(c, table, c.as_list(indices), weights, 1)
    total = _sums(c, rows, segments, bags, table)
    sizes = _counts(c, segments, bags)
    if mean:
        divisor = c.convert(c.maximum(sizes, c.i64([1])), element_of(table))
        total = c.divide(total, _with_rank_of(c, divisor, table))
    return _filled(c, total, sizes, table, default)


@exports(ov.EmbeddingSegmentsSum)
def export_segments_sum(
    c: Export,
    op: ov.EmbeddingSegmentsSum,
    table: Value,
    indices: Value,
    segments: Value,
    count: Value,
    default: Value | None = None,
    weights: Value | None = None,
) -> Value:
    where, size = c.as_i64(segments), c.as_list(count)
    total = _sums(c, _rows(c, table, indices, weights, 1), where, size, table)
    if default is None or ints(c, default) == [-1]:
        return total
    return _filled(c, total, _counts(c, where, size), table, default)


def _sums(c: Export, rows: Value, segments: Value, count: Value, table: Value) -> Value:
    """Add the rows of each segment, by ScatterND or, before opset 16, by a matrix product.

    The left operand of the product is 1 where a row belongs to a segment. `table` only gives the
    element type and the dimensions of a row.
    """
    element = element_of(table)
    if element in (ElementType.F16, ElementType.BF16):
        # Runtimes do not support adding f16 in ScatterND.
        wide = [c.convert(value, ElementType.F32) for value in (rows, table)]
        return c.convert(_sums(c, wide[0], segments, count, wide[1]), element)
    rest = c.slice(c.shape_of(table), [1], [2**31 - 1], [0])
    shape = c.concat([count, rest], 0)
    if c.opset >= 16:
        blank = c.constant_of_shape(shape, 0, element)
        return c(onnx_scatter.ScatterND16("add"), blank, c.unsqueeze(segments, [1]), rows)
    if not element.is_float:
        raise c.refuse("sums of integers by segment need opset 16", opset=16)
    number = c.reshape(count, [])
    members = _membership(c, segments, number, element)
    # Reshape to one flat row per index. The width is computed, because a Reshape cannot infer -1 if
    # there are no indices.
    width = c.reduce("Prod", rest, [0])
    length = c.shape_of(segments)
    flat = c.reshape_to(rows, c.concat([length, width], 0))
    return c.reshape_to(c(onnx_matmul.MatMul(), members, flat), shape)


def _membership(c: Export, segments: Value, count: Value, element: ElementType) -> Value:
    """Emit a table [count, N] that tells which of N indices belong to which segment.

    The element [s, i] is 1 if ``segments[i]`` is `s`, else 0. `segments` [N] holds the segment of
    each index, `count` is the number of segments, and `element` is the type of the table.
    """
    numbers = c.unsqueeze(c.numbers_below(count), [1])
    return c.convert(c.equal(numbers, c.unsqueeze(segments, [0])), element)


def _counts(c: Export, segments: Value, count: Value) -> Value:
    """Count the indices of each segment: emit a vector of length `count`.

    `segments` holds the segment of each index.
    """
    number = c.reshape(count, [])
    members = _membership(c, segments, number, ElementType.I64)
    return c.reduce("Sum", members, [1], keep=False)


def _with_rank_of(c: Export, numbers: Value, table: Value) -> Value:
    """Reshape a list [n] to [n, 1, ...], with the rank of the table."""
    rank = needed_rank(c, table, "table")
    return c.unsqueeze(numbers, list(range(1, rank))) if rank > 1 else numbers


def _filled(c: Export, total: Value, sizes: Value, table: Value, default: Value | None) -> Value:
    """Replace the sums of empty bags in `total` by row `default` of the table.

    `sizes` holds the number of indices of each bag. If `default` is missing or -1, nothing is
    replaced.
    """
    known = ints(c, default)
    if default is None or known == [-1]:
        return total
    index = c.as_list(default)
    row = c.gather(table, c.maximum(index, c.i64([0])), 0)
    empty = c.equal(sizes, c.i64([0]))
    if known is None:
        given = c.logical_not(c.less(index, c.i64([0])))
        empty = c(onnx_comparison.And(), empty, given)
    return c.select(_with_rank_of(c, empty, table), row, total)


@exports(ov.SegmentMax)
def export_segment_max(
    c: Export, op: ov.SegmentMax, data: Value, segments: Value, count: Value | None = None
) -> Value:
    """Write SegmentMax as a ScatterND by maximum into a tensor filled with the lowest number."""
    where = c.as_i64(segments)
    if count is None:
        last = c.reduce("Max", where, [0])
        size = c.add(last, c.i64([1]))
    else:
        size = c.as_list(count)
    rest = c.slice(c.shape_of(data), [1], [2**31 - 1], [0])
    shape = c.concat([size, rest], 0)
    element = element_of(data)
    lowest = lowest_number(element)
    blank = c.constant_of_shape(shape, lowest, element)
    inside = c.less(where, size)
    # An index beyond the end is replaced by 0, and its value by the lowest number, which does not
    # change the maximum.
    kept = c.select(inside, where, c.i64([0]))
    bottom = c.constant(neutral("max", element), element)
    rows = c.select(_with_rank_of(c, inside, data), data, bottom)
    places = c.unsqueeze(kept, [1])
    if c.has(18, *rows_table(blank, places, rows)):
        largest = c(onnx_scatter.ScatterND16("max"), blank, places, rows)
    else:
        largest = rows_by_comparing(c, "max", (blank, places, rows))
    if op.fill_mode.lower() == "lowest":
        return largest
    empty = c.equal(_counts(c, where, size), c.i64([0]))
    return c.select(_with_rank_of(c, empty, data), c.constant(0, element), largest)


@exports(ov.SparseFillEmptyRows)
def export_sparse_fill(
    c: Export,
    op: ov.SparseFillEmptyRows,
    values: Value,
    dense_shape: Value,
    indices: Value,
    default: Value,
) -> list[Value]:
    """Write SparseFillEmptyRows: Concat appends the missing rows, and TopK sorts all rows."""
    element = element_of(indices)
    where = c.as_i64(indices)
    rows = c.gather(where, c.i64(0), 1)
    count = c.gather(c.as_list(dense_shape), c.i64([0]), 0)
    numbers = c.numbers_below(c.reshape(count, []))
    same = c.equal(c.unsqueeze(numbers, [1]), c.unsqueeze(rows, [0]))
    found = c.reduce("Sum", c.convert(same, ElementType.I64), [1], keep=False)
    empty = c.equal(found, c.i64(0))
    missing = c.reshape(c(onnx_search.NonZero(), empty), [-1])
    lengths = c.shape_of(missing)
    first = c.unsqueeze(missing, [1])
    added = c.concat([first, c.subtract(first, first)], 1)
    filled = c.concat([where, added], 0)
    filler = c.expand(c.reshape(default, [1]), lengths)
    order = _order_of_rows(c, c.gather(filled, c.i64(0), 1))
    return [
        c.convert(c.gather(filled, order, 0), element),
        c.gather(c.concat([values, filler], 0), order, 0),
        empty,
    ]


def _order_of_rows(c: Export, rows: Value) -> Value:
    """The positions that sort row numbers in ascending order; equal ones keep their order."""
    count = c.shape_of(rows)
    positions = c.numbers_below(c.reshape(count, []))
    keys = c.add(c.multiply(rows, count), positions)
    _, order = c.topk(keys, count, 0, largest=False)
    return order


def lowest_number(element: ElementType) -> float:
    """The lowest finite number of a type."""
    import numpy as np

    dtype = element.numpy()
    if element.is_integer:
        return int(np.iinfo(dtype).min)
    return float(np.nextafter(np.array(-np.inf, dtype), np.array(0, dtype)))
