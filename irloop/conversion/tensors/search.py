"""Converts sorting, searching and accumulating."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.tensors.ordered_topk import first_best, ordered_topk
from irloop.dialects.onnx import gather as onnx_gather
from irloop.dialects.onnx import search as onnx
from irloop.dialects.openvino import search as ov
from irloop.dialects.openvino.comparison import LogicalOr
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import ints, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.TopK, ov.TopK3, ov.TopK11)
def export_topk(
    c: Export, op: ov.TopK | ov.TopK3 | ov.TopK11, data: Value, k: Value
) -> list[Value]:
    """Write TopK, and a second TopK over the indices if the result is sorted by index."""
    count = c.as_list(k)
    element, largest = element_of(data), op.mode.lower() == "max"
    values, indices = c.topk(_sortable(c, data), count, op.axis, largest=largest)
    if element_of(values) is not element:
        values = c.convert(_flipped(c, values, element), element)
    if op.sort.lower() == "index":
        indices, order = c.topk(indices, count, op.axis, largest=False)
        values = c(onnx_gather.GatherElements(op.axis), values, order)
    return [values, c.convert(indices, op.index_element_type)]


def _sortable(c: Export, data: Value) -> Value:
    """Convert `data` to a type that ONNX Runtime's TopK supports and that keeps the order."""
    element = element_of(data)
    if element is ElementType.U64:
        return _flipped(c, c.convert(data, ElementType.I64), element)
    if element.is_integer:
        # Before opset 11, ONNX Runtime sorts floats only.
        wide = ElementType.I64 if c.opset >= 11 else ElementType.F64
        return c.convert(data, wide)
    return data if element is ElementType.F64 else c.convert(data, ElementType.F32)


def _flipped(c: Export, value: Value, element: ElementType) -> Value:
    """Flip the sign bit of u64 numbers in an i64, so that comparisons as i64 order them right.

    Flipping again restores the numbers. `value` is returned unchanged if `element` is not u64.
    """
    if element is not ElementType.U64:
        return value
    return c.add(value, c.i64(-(2**63)))


@imports(onnx.TopK1)
def import_topk_1(c: Import, op: onnx.TopK1, data: Value) -> list[Value]:
    return list(ordered_topk(c, data, c.i64(op.k), op.axis, "max"))


@imports(onnx.TopK10)
def import_topk_10(c: Import, op: onnx.TopK10, data: Value, k: Value) -> list[Value]:
    return list(ordered_topk(c, data, c.as_scalar(k), op.axis, "max"))


@imports(onnx.TopK11)
def import_topk_11(c: Import, op: onnx.TopK11, data: Value, k: Value) -> list[Value]:
    """Write TopK. Without `sorted`, any order is right, but the first of equal elements count."""
    count = c.as_scalar(k)
    return list(ordered_topk(c, data, count, op.axis, "max" if op.largest else "min"))


@imports(onnx.ArgMax, onnx.ArgMin)
def import_arg_extreme(c: Import, op: onnx.ArgMax | onnx.ArgMin, data: Value) -> Value:
    return _arg_extreme(c, data, op.axis, op.keepdims, op.largest)


@imports(onnx.ArgMax12, onnx.ArgMin12)
def import_arg_extreme_12(c: Import, op: onnx.ArgMax12 | onnx.ArgMin12, data: Value) -> Value:
    """Write ArgMax or ArgMin as the first position of the best element.

    To find the last of equal elements, the axis is reversed first.
    """
    if not op.select_last_index:
        return _arg_extreme(c, data, op.axis, op.keepdims, op.largest)
    turned = c.slice(data, [-1], [-TO_THE_END], [op.axis], [-1])
    found = _arg_extreme(c, turned, op.axis, op.keepdims, op.largest)
    size = c.size_of(data, op.axis)
    return c.subtract(c.subtract(size, c.i64(1)), found)


def _arg_extreme(c: Import, data: Value, axis: int, keep: bool, largest: bool) -> Value:
    mode = "max" if largest else "min"
    return first_best(c, data, axis, mode, keep=keep)[1]


@exports(ov.NonZero)
def export_nonzero(c: Export, op: ov.NonZero, data: Value) -> Value:
    rank = shape_of(data).rank
    if rank == 0:
        data = c.reshape(data, [1])
    return c.convert(c(onnx.NonZero(), data), op.output_type)


@imports(onnx.NonZero)
def import_nonzero(c: Import, op: onnx.NonZero, data: Value) -> Value:
    coordinates = c(ov.NonZero(ElementType.I64), data)
    if shape_of(data).rank == 0:
        # A scalar has no coordinates in ONNX, but one coordinate in OpenVINO.
        return c.slice(coordinates, [0], [0], [0])
    return coordinates


_SUMS = frozenset(
    {
        ElementType.F32,
        ElementType.F64,
        ElementType.I32,
        ElementType.I64,
        ElementType.U32,
        ElementType.U64,
    }
)


@exports(ov.CumSum)
def export_cumsum(c: Export, op: ov.CumSum, data: Value, axis: Value | None = None) -> Value:
    at = c.i64(0) if axis is None else c.as_i64(axis)
    if shape_of(at).rank != 0:
        at = c.reshape(at, [])
    element = element_of(data)
    chosen = element
    if element not in _SUMS:
        chosen = ElementType.I32 if element.is_integer else ElementType.F32
    sums = onnx.CumSum(op.exclusive, op.reverse)
    return c.computed_in(chosen, lambda x: c(sums, x, at), data)


@imports(onnx.CumSum)
def import_cumsum(c: Import, op: onnx.CumSum, data: Value, axis: Value) -> Value:
    at = c.as_scalar(axis)
    return c(ov.CumSum(op.exclusive, op.reverse), data, at)


@imports(onnx.CumProd)
def import_cumprod(c: Import, op: onnx.CumProd, data: Value, axis: Value) -> Value:
    """Write CumProd: a Select builds a table [.., n, n, ..], and ReduceProd reduces its second n.

    Row i of the table holds the n elements along the axis; elements that are not part of product i
    are replaced by 1. If the axis is computed, the products along every axis are computed, and
    those of the right axis are selected.
    """
    rank, known = needed_rank(c, data), ints(c, axis)
    if known is not None:
        return _products(c, op, data, known[0] % rank)
    # Compute the result along each axis, and select the result of the requested axis.
    at = c.as_scalar(c.as_i64(axis))
    result = _products(c, op, data, 0)
    for candidate in range(1, rank):
        meant = [c.equal(at, c.i64(number)) for number in (candidate, candidate - rank)]
        chosen = c(LogicalOr(), *meant)
        result = c.select(chosen, _products(c, op, data, candidate), result)
    return result


def _products(c: Import, op: onnx.CumProd, data: Value, axis: int) -> Value:
    rank = needed_rank(c, data)
    numbers = c.numbers_below(c.size_of(data, axis))
    row, column = c.unsqueeze(numbers, [1]), c.unsqueeze(numbers, [0])
    before, behind = (row, column) if op.reverse else (column, row)
    joins = c.less(before, behind)
    if not op.exclusive:
        joins = c.logical_not(c.less(behind, before))
    if rank - 1 - axis:
        joins = c.unsqueeze(joins, list(range(2, rank + 1 - axis)))
    table = c.select(joins, c.unsqueeze(data, [axis]), c.constant(1, element_of(data)))
    return c.reduce("Prod", table, [axis + 1], keep=False)


@exports(ov.Bucketize)
def export_bucketize(c: Export, op: ov.Bucketize, data: Value, bounds: Value) -> Value:
    """Write Bucketize as the number of bounds that are less than each element.

    With `with_right_bound` False, it is the number of bounds that are less than or equal to it.
    """
    return _count_below(c, bounds, data, op.with_right_bound, op.output_type)


@exports(ov.SearchSorted)
def export_search_sorted(c: Export, op: ov.SearchSorted, table: Value, values: Value) -> Value:
    """Write SearchSorted as the number of elements that are less than each value.

    The elements are those of the row of `table` that belongs to the value. In `right_mode`,
    elements that equal the value are counted, too.
    """
    if needed_rank(c, table, "sorted input") > 1:
        table = c.unsqueeze(table, [-2])
    return _count_below(c, table, values, not op.right_mode, op.output_type)


def _count_below(
    c: Export, table: Value, values: Value, strictly: bool, output: ElementType
) -> Value:
    element = _common(element_of(table), element_of(values))
    left = c.convert(table, element)
    right = c.unsqueeze(c.convert(values, element), [-1])
    below = c.less(left, right) if strictly else c.logical_not(c.less(right, left))
    ones = c.convert(below, ElementType.I64)
    return c.convert(c.reduce("Sum", ones, [-1], keep=False), output)


def _common(left: ElementType, right: ElementType) -> ElementType:
    """Return the element type in which two operands can be compared.

    It is their type if both have the same, else i64 if both are integers, else f64.
    """
    if left is right:
        return left
    return ElementType.I64 if left.is_integer and right.is_integer else ElementType.F64
