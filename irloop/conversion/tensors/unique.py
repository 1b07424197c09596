"""Converts Unique."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import search as onnx
from irloop.dialects.openvino import comparison, reduction
from irloop.dialects.openvino import search as ov
from irloop.dialects.writing.known_inputs import needed_axis, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.Unique)
def export_unique(c: Export, op: ov.Unique, data: Value, axis: Value | None = None) -> list[Value]:
    along = None if axis is None else needed_axis(c, axis)
    element = element_of(data)
    chosen = ElementType.I64 if element.is_integer else ElementType.F32
    if element in (ElementType.F64, ElementType.U64):
        chosen = element
    wide = c.convert(data, chosen)
    outputs = list(c.emit(onnx.Unique(along, op.sorted), wide, n_outputs=4).outputs)
    outputs[0] = c.convert(outputs[0], element)
    types = (op.index_element_type, op.index_element_type, op.count_element_type)
    counted = zip(outputs[1:], types, strict=True)
    return [outputs[0], *(c.convert(value, type) for value, type in counted)]


@imports(onnx.Unique)
def import_unique(c: Import, op: onnx.Unique, data: Value) -> list[Value]:
    """Write Unique-10, or before opset10 comparisons of every slice with every other slice."""
    count = len(c.node.outputs)
    slices = None
    if shape_of(data).rank is not None:
        slices = shape_of(data).count() if op.axis is None else shape_of(data).dim(op.axis)
    if c.has(10, slices, shape_of(data).count()):
        return _newer(c, op, data)[:count]
    if op.axis is None:
        return _Groups(c, c.reshape(data, [-1]), 0, op.in_order).outputs[:count]
    return _Groups(c, data, op.axis, op.in_order).outputs[:count]


def _newer(c: Import, op: onnx.Unique, data: Value) -> list[Value]:
    """Emit Unique-10, with 8-bit elements converted to i32 if slices along an axis are compared.

    OpenVINO would group slices of 8-bit elements wrongly.
    """
    element = element_of(data)
    axis = None if op.axis is None else c.i64(op.axis)
    wide = data
    if axis is not None and element.bits <= 8:
        wide = c.convert_always(data, ElementType.I32)
    groups, *others = c.emit(ov.Unique(op.in_order), wide, axis, n_outputs=4).outputs
    return [c.convert(groups, element), *others]


class _Groups:
    """Groups equal slices of an axis by comparing every slice with every other.

    A group is identified by its first slice. Groups are numbered by value (the first difference
    between slices decides), or by first position if the order is to be kept.
    """

    def __init__(self, c: Import, data: Value, axis: int, in_order: bool) -> None:
        self.c = c
        rows = self._rows(data, axis)
        size = c.size_of(rows, 0)
        numbers = c.numbers_below(size)
        pair = c.unsqueeze(rows, [1]), c.unsqueeze(rows, [0])
        same = c(reduction.ReduceLogicalAnd(), c.equal(*pair), c.i64([2]))
        row, limit = c.unsqueeze(numbers, [0]), c.unsqueeze(size, [0])
        first = c.reduce("Min", c.select(same, row, limit), [1], keep=False)
        opens = c.equal(first, numbers)
        places = c.squeeze(c(ov.NonZero(ElementType.I64), opens), [0])
        if in_order:
            places = c.gather(places, self._order(c.gather(rows, places, 0)), 0)
        # A slice is a member of the group whose first slice is the first slice equal to it.
        member = c.equal(c.unsqueeze(first, [1]), c.unsqueeze(places, [0]))
        ones = c.convert_always(member, ElementType.I64)
        groups = c.numbers_below(c.size_of(places, 0))
        chosen = c.multiply(ones, c.unsqueeze(groups, [0]))
        self.outputs = [
            c.gather(data, places, axis),
            places,
            c.reduce("Sum", chosen, [1], keep=False),
            c.reduce("Sum", ones, [0], keep=False),
        ]

    def _rows(self, data: Value, axis: int) -> Value:
        """Flatten each slice of `data` along `axis` to a row: [slices, elements]."""
        c = self.c
        rank = needed_rank(c, data)
        at = axis % rank
        front = c.moved(data, at, 0, rank)
        count = c.sizes_of(data, [at])
        return c.reshape_to(front, c.concat([count, c.i64([-1])], 0), special_zero=False)

    def _order(self, rows: Value) -> Value:
        """Return the indices that sort distinct rows in ascending lexicographic order.

        The rank of a row is the number of smaller rows; a row is smaller than another if its
        element is smaller where the two first differ.
        """
        c = self.c
        left, right = c.unsqueeze(rows, [1]), c.unsqueeze(rows, [0])
        differs = c.convert_always(c.logical_not(c.equal(left, right)), ElementType.I32)
        before = c(ov.CumSum(exclusive=True), differs, c.i64(2))
        undecided = c.equal(before, c.constant(0, ElementType.I32))
        decides = c(comparison.LogicalAnd(), undecided, c.less(right, left))
        larger = c(reduction.ReduceLogicalOr(), decides, c.i64([2]))
        rank = c.reduce("Sum", c.convert_always(larger, ElementType.I64), [1], keep=False)
        _, order = c.topk(rank, c.size_of(rank, 0), 0, mode="min")
        return order
