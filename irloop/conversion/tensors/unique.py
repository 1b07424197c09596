"""Converts Unique."""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms, openvino_forms
from irloop.conversion.framework.known_inputs import needed_axis, needed_rank
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.dialects.onnx import search as onnx
from irloop.dialects.openvino import comparison, reduction
from irloop.dialects.openvino import search as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.Unique)
def export_unique(
    c: Conversion, op: ov.Unique, data: Value, axis: Value | None = None
) -> list[Value]:
    at = None if axis is None else needed_axis(c, axis)
    element = element_of(data)
    chosen = ElementType.I64 if element.is_integer else ElementType.F32
    if element in (ElementType.F64, ElementType.U64):
        chosen = element
    wide = onnx_forms.convert(c, data, chosen)
    outputs = list(c.emit(onnx.Unique(at, op.sorted), wide, n_outputs=4).outputs)
    outputs[0] = onnx_forms.convert(c, outputs[0], element)
    types = (op.index_element_type, op.index_element_type, op.count_element_type)
    counted = zip(outputs[1:], types, strict=True)
    return [outputs[0], *(onnx_forms.convert(c, value, type) for value, type in counted)]


@imports(onnx.Unique)
def import_unique(c: Conversion, op: onnx.Unique, data: Value) -> list[Value]:
    """Write Unique-10, or before opset10 comparisons of every slice with every other slice."""
    count = len(c.node.outputs)
    slices = None
    if shape_of(data).rank is not None:
        slices = shape_of(data).count() if op.axis is None else shape_of(data).dim(op.axis)
    if c.has(10, slices, shape_of(data).count()):
        return _newer(c, op, data)[:count]
    if op.axis is None:
        return _Groups(c, openvino_forms.reshape(c, data, [-1]), 0, op.in_order).outputs[:count]
    return _Groups(c, data, op.axis, op.in_order).outputs[:count]


def _newer(c: Conversion, op: onnx.Unique, data: Value) -> list[Value]:
    """Emit Unique-10, with 8-bit elements converted to i32 if slices along an axis are compared.

    OpenVINO would group slices of 8-bit elements wrongly.
    """
    element = element_of(data)
    axis = None if op.axis is None else c.i64(op.axis)
    wide = data
    if axis is not None and element.bits <= 8:
        wide = openvino_forms.convert_always(c, data, ElementType.I32)
    groups, *others = c.emit(ov.Unique(op.in_order), wide, axis, n_outputs=4).outputs
    return [openvino_forms.convert(c, groups, element), *others]


class _Groups:
    """Groups equal slices of an axis by comparing every slice with every other.

    A group is identified by its first slice. Groups are numbered by value (the first difference
    between slices decides), or by first position if the order is to be kept.
    """

    def __init__(self, c: Conversion, data: Value, axis: int, in_order: bool) -> None:
        self.c = c
        f = openvino_forms
        rows = self._rows(data, axis)
        size = f.size_of(c, rows, 0)
        numbers = f.range_(c, c.i64(0), size, c.i64(1))
        pair = f.unsqueeze(c, rows, [1]), f.unsqueeze(c, rows, [0])
        same = c(reduction.ReduceLogicalAnd(), f.equal(c, *pair), c.i64([2]))
        row, limit = f.unsqueeze(c, numbers, [0]), f.unsqueeze(c, size, [0])
        first = f.reduce(c, "Min", f.select(c, same, row, limit), [1], keep=False)
        opens = f.equal(c, first, numbers)
        places = f.squeeze(c, c(ov.NonZero(ElementType.I64), opens), [0])
        if in_order:
            places = f.gather(c, places, self._order(f.gather(c, rows, places, 0)), 0)
        # A slice is a member of the group whose first slice is the first slice equal to it.
        member = f.equal(c, f.unsqueeze(c, first, [1]), f.unsqueeze(c, places, [0]))
        ones = f.convert_always(c, member, ElementType.I64)
        groups = f.range_(c, c.i64(0), f.size_of(c, places, 0), c.i64(1))
        chosen = f.multiply(c, ones, f.unsqueeze(c, groups, [0]))
        self.outputs = [
            f.gather(c, data, places, axis),
            places,
            f.reduce(c, "Sum", chosen, [1], keep=False),
            f.reduce(c, "Sum", ones, [0], keep=False),
        ]

    def _rows(self, data: Value, axis: int) -> Value:
        """Flatten each slice of `data` along `axis` to a row: [slices, elements]."""
        c, f = self.c, openvino_forms
        rank = needed_rank(c, data)
        at = axis % rank
        front = f.transpose(c, data, [at, *(i for i in range(rank) if i != at)])
        count = f.as_list(c, f.size_of(c, data, at))
        return f.reshape_to(c, front, f.concat(c, [count, c.i64([-1])], 0), special_zero=False)

    def _order(self, rows: Value) -> Value:
        """Return the indices that sort distinct rows in ascending lexicographic order.

        The rank of a row is the number of smaller rows; a row is smaller than another if its
        element is smaller where the two first differ.
        """
        c, f = self.c, openvino_forms
        left, right = f.unsqueeze(c, rows, [1]), f.unsqueeze(c, rows, [0])
        differs = f.convert_always(c, f.logical_not(c, f.equal(c, left, right)), ElementType.I32)
        before = c(ov.CumSum(exclusive=True), differs, c.i64(2))
        undecided = f.equal(c, before, c.constant(0, ElementType.I32))
        decides = c(comparison.LogicalAnd(), undecided, f.less(c, right, left))
        larger = c(reduction.ReduceLogicalOr(), decides, c.i64([2]))
        rank = f.reduce(c, "Sum", f.convert_always(c, larger, ElementType.I64), [1], keep=False)
        _, order = f.topk(c, rank, f.size_of(c, rank, 0), 0, mode="min")
        return order
