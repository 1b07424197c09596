"""Exports EmbeddingBag and segment operations to ONNX, which has none of them.

These are the EmbeddingBag operations, EmbeddingSegmentsSum, SegmentMax and SparseFillEmptyRows.
"""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.framework.known_inputs import ints, needed_rank
from irloop.conversion.framework.translation import Conversion, exports
from irloop.conversion.tensors.scatter_parts import neutral, rows_by_comparing, rows_table
from irloop.dialects.onnx import comparison as onnx_comparison
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.onnx import scatter as onnx_scatter
from irloop.dialects.onnx import search as onnx_search
from irloop.dialects.openvino import embedding as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.EmbeddingBagPackedSum)
def export_packed_sum(
    c: Conversion,
    op: ov.EmbeddingBagPackedSum,
    table: Value,
    indices: Value,
    weights: Value | None = None,
) -> Value:
    return _packed(c, "Sum", table, indices, weights)


@exports(ov.EmbeddingBagPacked)
def export_packed(
    c: Conversion,
    op: ov.EmbeddingBagPacked,
    table: Value,
    indices: Value,
    weights: Value | None = None,
) -> Value:
    kind = "Mean" if op.reduction.lower() == "mean" else "Sum"
    return _packed(c, kind, table, indices, weights)


def _packed(c: Conversion, kind: str, table: Value, indices: Value, weights: Value | None) -> Value:
    """Compute an EmbeddingBagPacked: gather the table rows of each bag, weight and reduce them.

    `indices` is [bags, indices per bag]. `kind` is the reduction; `weights` may be None.
    """
    rows = _rows(c, table, indices, weights, 2)
    return forms.reduce(c, kind, rows, [1], keep=False)


def _rows(c: Conversion, table: Value, indices: Value, weights: Value | None, axes: int) -> Value:
    rows = forms.gather(c, table, forms.as_i64(c, indices), 0)
    if weights is None:
        return rows
    rank = needed_rank(c, table, "table") - 1 + axes
    if rank > axes:
        weights = forms.unsqueeze(c, weights, list(range(axes, rank)))
    return forms.multiply(c, rows, weights)


@exports(ov.EmbeddingBagOffsetsSum)
def export_offsets_sum(
    c: Conversion,
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
    c: Conversion,
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
    c: Conversion,
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
    starts = forms.as_list(c, offsets)
    count = forms.gather(c, forms.shape_of(c, forms.as_list(c, indices)), c.i64(0), 0)
    positions = forms.unsqueeze(c, forms.range_(c, c.i64(0), count, c.i64(1)), [1])
    reached = forms.logical_not(c, forms.less(c, positions, forms.unsqueeze(c, starts, [0])))
    number = forms.reduce(c, "Sum", forms.convert(c, reached, ElementType.I64), [1], keep=False)
    segments = forms.subtract(c, number, c.i64(1))
    bags = forms.gather(c, forms.shape_of(c, starts), c.i64([0]), 0)
    rows = _rows(c, table, forms.as_list(c, indices), weights, 1)
    total = _sums(c, rows, segments, bags, table)
    sizes = _counts(c, segments, bags)
    if mean:
        divisor = forms.convert(c, forms.maximum(c, sizes, c.i64([1])), element_of(table))
        total = forms.divide(c, total, _with_rank_of(c, divisor, table))
    return _filled(c, total, sizes, table, default)


@exports(ov.EmbeddingSegmentsSum)
def export_segments_sum(
    c: Conversion,
    op: ov.EmbeddingSegmentsSum,
    table: Value,
    indices: Value,
    segments: Value,
    count: Value,
    default: Value | None = None,
    weights: Value | None = None,
) -> Value:
    where, size = forms.as_i64(c, segments), forms.as_list(c, count)
    total = _sums(c, _rows(c, table, indices, weights, 1), where, size, table)
    if default is None or ints(c, default) == [-1]:
        return total
    return _filled(c, total, _counts(c, where, size), table, default)


def _sums(c: Conversion, rows: Value, segments: Value, count: Value, table: Value) -> Value:
    """Add the rows of each segment, by ScatterND or, before opset 16, by a matrix product.

    The left operand of the product is 1 where a row belongs to a segment. `table` only gives the
    element type and the dimensions of a row.
    """
    element = element_of(table)
    if element in (ElementType.F16, ElementType.BF16):
        # Runtimes do not support adding f16 in ScatterND.
        wide = [forms.convert(c, value, ElementType.F32) for value in (rows, table)]
        return forms.convert(c, _sums(c, wide[0], segments, count, wide[1]), element)
    rest = forms.slice_(c, forms.shape_of(c, table), [1], [2**31 - 1], [0])
    shape = forms.concat(c, [count, rest], 0)
    if c.opset >= 16:
        blank = forms.constant_of_shape(c, shape, 0, element)
        return c(onnx_scatter.ScatterND16("add"), blank, forms.unsqueeze(c, segments, [1]), rows)
    if not element.is_float:
        raise c.refuse("sums of integers by segment need opset 16", opset=16)
    number = forms.reshape(c, count, [])
    members = _membership(c, segments, number, element)
    # Reshape to one flat row per index. The width is computed, because a Reshape cannot infer -1 if
    # there are no indices.
    width = forms.reduce(c, "Prod", rest, [0])
    length = forms.shape_of(c, segments)
    flat = forms.reshape_to(c, rows, forms.concat(c, [length, width], 0))
    return forms.reshape_to(c, c(onnx_matmul.MatMul(), members, flat), shape)


def _membership(c: Conversion, segments: Value, count: Value, element: ElementType) -> Value:
    """Emit a table [count, N] that tells which of N indices belong to which segment.

    The element [s, i] is 1 if ``segments[i]`` is `s`, else 0. `segments` [N] holds the segment of
    each index, `count` is the number of segments, and `element` is the type of the table.
    """
    numbers = forms.unsqueeze(c, forms.range_(c, c.i64(0), count, c.i64(1)), [1])
    return forms.convert(c, forms.equal(c, numbers, forms.unsqueeze(c, segments, [0])), element)


def _counts(c: Conversion, segments: Value, count: Value) -> Value:
    """Count the indices of each segment: emit a vector of length `count`.

    `segments` holds the segment of each index.
    """
    number = forms.reshape(c, count, [])
    members = _membership(c, segments, number, ElementType.I64)
    return forms.reduce(c, "Sum", members, [1], keep=False)


def _with_rank_of(c: Conversion, numbers: Value, table: Value) -> Value:
    """Reshape a list [n] to [n, 1, ...], with the rank of the table."""
    rank = needed_rank(c, table, "table")
    return forms.unsqueeze(c, numbers, list(range(1, rank))) if rank > 1 else numbers


def _filled(
    c: Conversion, total: Value, sizes: Value, table: Value, default: Value | None
) -> Value:
    """Replace the sums of empty bags in `total` by row `default` of the table.

    `sizes` holds the number of indices of each bag. If `default` is missing or -1, nothing is
    replaced.
    """
    known = ints(c, default)
    if default is None or known == [-1]:
        return total
    index = forms.as_list(c, default)
    row = forms.gather(c, table, forms.maximum(c, index, c.i64([0])), 0)
    empty = forms.equal(c, sizes, c.i64([0]))
    if known is None:
        given = forms.logical_not(c, forms.less(c, index, c.i64([0])))
        empty = c(onnx_comparison.And(), empty, given)
    return forms.select(c, _with_rank_of(c, empty, table), row, total)


@exports(ov.SegmentMax)
def export_segment_max(
    c: Conversion, op: ov.SegmentMax, data: Value, segments: Value, count: Value | None = None
) -> Value:
    """Write SegmentMax as a ScatterND by maximum into a tensor filled with the lowest number."""
    where = forms.as_i64(c, segments)
    if count is None:
        last = forms.reduce(c, "Max", where, [0])
        size = forms.add(c, last, c.i64([1]))
    else:
        size = forms.as_list(c, count)
    rest = forms.slice_(c, forms.shape_of(c, data), [1], [2**31 - 1], [0])
    shape = forms.concat(c, [size, rest], 0)
    element = element_of(data)
    lowest = lowest_number(element)
    blank = forms.constant_of_shape(c, shape, lowest, element)
    inside = forms.less(c, where, size)
    # An index beyond the end is replaced by 0, and its value by the lowest number, which does not
    # change the maximum.
    kept = forms.select(c, inside, where, c.i64([0]))
    bottom = c.constant(neutral("max", element), element)
    rows = forms.select(c, _with_rank_of(c, inside, data), data, bottom)
    places = forms.unsqueeze(c, kept, [1])
    if c.has(18, *rows_table(blank, places, rows)):
        found = c(onnx_scatter.ScatterND16("max"), blank, places, rows)
    else:
        found = rows_by_comparing(c, onnx_forms, "max", (blank, places, rows))
    if op.fill_mode.lower() == "lowest":
        return found
    empty = forms.equal(c, _counts(c, where, size), c.i64([0]))
    return forms.select(c, _with_rank_of(c, empty, data), c.constant(0, element), found)


@exports(ov.SparseFillEmptyRows)
def export_sparse_fill(
    c: Conversion,
    op: ov.SparseFillEmptyRows,
    values: Value,
    dense_shape: Value,
    indices: Value,
    default: Value,
) -> list[Value]:
    """Write SparseFillEmptyRows: Concat appends the missing rows, and TopK sorts all rows."""
    element = element_of(indices)
    where = forms.as_i64(c, indices)
    rows = forms.gather(c, where, c.i64(0), 1)
    count = forms.gather(c, forms.as_list(c, dense_shape), c.i64([0]), 0)
    numbers = forms.range_(c, c.i64(0), forms.reshape(c, count, []), c.i64(1))
    same = forms.equal(c, forms.unsqueeze(c, numbers, [1]), forms.unsqueeze(c, rows, [0]))
    found = forms.reduce(c, "Sum", forms.convert(c, same, ElementType.I64), [1], keep=False)
    empty = forms.equal(c, found, c.i64(0))
    missing = forms.reshape(c, c(onnx_search.NonZero(), empty), [-1])
    lengths = forms.shape_of(c, missing)
    first = forms.unsqueeze(c, missing, [1])
    added = forms.concat(c, [first, forms.subtract(c, first, first)], 1)
    whole = forms.concat(c, [where, added], 0)
    filler = forms.expand(c, forms.reshape(c, default, [1]), lengths)
    order = _order_of_rows(c, forms.gather(c, whole, c.i64(0), 1))
    return [
        forms.convert(c, forms.gather(c, whole, order, 0), element),
        forms.gather(c, forms.concat(c, [values, filler], 0), order, 0),
        empty,
    ]


def _order_of_rows(c: Conversion, rows: Value) -> Value:
    """The positions that sort row numbers in ascending order; equal ones keep their order."""
    count = forms.shape_of(c, rows)
    positions = forms.range_(c, c.i64(0), forms.reshape(c, count, []), c.i64(1))
    keys = forms.add(c, forms.multiply(c, rows, count), positions)
    _, order = forms.topk(c, keys, count, 0, largest=False)
    return order


def lowest_number(element: ElementType) -> float:
    """The lowest finite number of a type."""
    import numpy as np

    dtype = element.numpy()
    if element.is_integer:
        return int(np.iinfo(dtype).min)
    return float(np.nextafter(np.array(-np.inf, dtype), np.array(0, dtype)))
