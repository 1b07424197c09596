"""Converts operations that write elements by index."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.tensors.scatter_parts import (
    elements_by_comparing,
    elements_table,
    neutral,
    rows_by_comparing,
    rows_table,
)
from irloop.dialects.onnx import scatter as onnx
from irloop.dialects.onnx.scatter import Reduction
from irloop.dialects.openvino import scatter as ov
from irloop.dialects.writing.known_inputs import needed_axis, needed_rank
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

_TO_ONNX: dict[str, Reduction] = {
    "none": "none",
    "sum": "add",
    "prod": "mul",
    "min": "min",
    "max": "max",
}
_TO_OPENVINO = {"none": "none", "add": "sum", "mul": "prod", "min": "min", "max": "max"}


#: The first ONNX opset whose scatters have a reduction. Minimum and maximum are newer.
SINCE = {"none": 0, "add": 16, "mul": 16, "min": 18, "max": 18}


def _elements(
    c: Export,
    data: Value,
    indices: Value,
    updates: Value,
    axis: int,
    reduction: Reduction = "none",
) -> Value:
    if not c.has(SINCE[reduction], *elements_table(data, indices, axis)):
        return elements_by_comparing(c, reduction, axis, (data, indices, updates))
    where = indices
    if element_of(indices) not in (ElementType.I32, ElementType.I64):
        where = c.as_i64(indices)
    if c.opset < 16:
        return c(onnx.ScatterElements(axis), data, where, updates)
    return c(onnx.ScatterElements16(axis, reduction), data, where, updates)


@exports(ov.ScatterElementsUpdate)
def export_scatter_elements(
    c: Export,
    op: ov.ScatterElementsUpdate,
    data: Value,
    indices: Value,
    updates: Value,
    axis: Value,
) -> Value:
    return _elements(c, data, indices, updates, needed_axis(c, axis))


@exports(ov.ScatterElementsUpdate12)
def export_scatter_elements_12(
    c: Export,
    op: ov.ScatterElementsUpdate12,
    data: Value,
    indices: Value,
    updates: Value,
    axis: Value,
) -> Value:
    along, reduction = needed_axis(c, axis), op.reduction.lower()
    if reduction == "none":
        return _elements(c, data, indices, updates, along)
    if element_of(data) is ElementType.BOOLEAN:
        return _boolean(c, op, reduction, (data, indices, updates), along)
    if reduction == "mean":
        return _mean(c, op, data, indices, updates, along)
    if not op.use_init_val:
        data = _without_initial(c, reduction, data, indices, updates, along)
    return _elements(c, data, indices, updates, along, _TO_ONNX[reduction])


def _boolean(
    c: Export,
    op: ov.ScatterElementsUpdate12,
    reduction: str,
    values: tuple[Value, Value, Value],
    axis: int,
) -> Value:
    """Emit a scatter of booleans as a scatter of i32, and convert the result to booleans.

    Reduction sum becomes max, which is a logical or, and prod becomes min, which is a logical and.

    Raises:
        RefusedError: for the reduction mean.
    """
    data, indices, updates = values
    wide = [c.convert(value, ElementType.I32) for value in (data, updates)]
    kind: Reduction = "max" if reduction in ("sum", "max") else "min"
    if reduction == "mean":
        raise c.refuse("booleans have no mean")
    start = wide[0]
    if not op.use_init_val:
        start = _without_initial(c, kind, wide[0], indices, wide[1], axis)
    found = _elements(c, start, indices, wide[1], axis, kind)
    return c.convert(found, ElementType.BOOLEAN)


def _without_initial(
    c: Export, reduction: str, data: Value, indices: Value, updates: Value, axis: int
) -> Value:
    """Return `data` with the neutral element of the reduction wherever `indices` point.

    A scatter into the result ignores the initial values, as `use_init_val` = false demands.
    """
    number = neutral(reduction, element_of(data))
    blank = c.expand(c.constant(number, element_of(data)), c.shape_of(updates))
    return _elements(c, data, indices, blank, axis)


def _mean(
    c: Export,
    op: ov.ScatterElementsUpdate12,
    data: Value,
    indices: Value,
    updates: Value,
    axis: int,
) -> Value:
    """ScatterElementsUpdate with reduction mean: the sum divided by the number of its terms.

    Integer results are rounded down.
    """
    element = element_of(data)
    if not op.use_init_val:
        data = _without_initial(c, "sum", data, indices, updates, axis)
    one = c.constant(1, element)
    ones = c.expand(one, c.shape_of(updates))
    counts = c.expand(c.constant(0, element), c.shape_of(data))
    counts = _elements(c, counts, indices, ones, axis, "add")
    counts = c.add(counts, one) if op.use_init_val else c.maximum(counts, one)
    total = _elements(c, data, indices, updates, axis, "add")
    if element.is_integer:
        return c.floor_divide(total, counts)
    return c.divide(total, counts)


def _coordinates(
    c: Export, data: Value, indices: Value, updates: Value, reduction: Reduction = "none"
) -> Value:
    where = c.as_i64(indices)
    if not c.has(SINCE[reduction], *rows_table(data, where, updates)):
        return rows_by_comparing(c, reduction, (data, where, updates))
    if c.opset < 16:
        return c(onnx.ScatterND(), data, where, updates)
    return c(onnx.ScatterND16(reduction), data, where, updates)


@exports(ov.ScatterNDUpdate)
def export_scatter_nd(
    c: Export, op: ov.ScatterNDUpdate, data: Value, indices: Value, updates: Value
) -> Value:
    return _coordinates(c, data, indices, updates)


@exports(ov.ScatterNDUpdate15)
def export_scatter_nd_15(
    c: Export, op: ov.ScatterNDUpdate15, data: Value, indices: Value, updates: Value
) -> Value:
    reduction = op.reduction.lower()
    if reduction == "sub":
        zero = c.constant(0, element_of(updates))
        return _coordinates(c, data, indices, c.subtract(zero, updates), "add")
    if reduction != "none" and element_of(data) is ElementType.BOOLEAN:
        kind: Reduction = "max" if reduction in ("sum", "max") else "min"
        wide = [c.convert(value, ElementType.I32) for value in (data, updates)]
        found = _coordinates(c, wide[0], indices, wide[1], kind)
        return c.convert(found, ElementType.BOOLEAN)
    return _coordinates(c, data, indices, updates, _TO_ONNX[reduction])


@exports(ov.ScatterUpdate)
def export_scatter_update(
    c: Export, op: ov.ScatterUpdate, data: Value, indices: Value, updates: Value, axis: Value
) -> Value:
    """Write ScatterUpdate as ScatterND along the first axis, between Transposes for other axes."""
    along = needed_axis(c, axis)
    where = c.unsqueeze(c.as_i64(indices), [-1])
    if along == 0:
        return _coordinates(c, data, where, updates)
    rank, picked = needed_rank(c, data), needed_rank(c, indices, "indices")
    along %= rank
    front = [along, *(i for i in range(rank) if i != along)]
    width = rank - 1 + picked
    lead = list(range(along, along + picked))
    moved = c.transpose(updates, [*lead, *(i for i in range(width) if i not in lead)])
    found = _coordinates(c, c.transpose(data, front), where, moved)
    return c.transpose(found, [front.index(i) for i in range(rank)])


@imports(onnx.Scatter, onnx.ScatterElements)
def import_scatter_elements(
    c: Import,
    op: onnx.Scatter | onnx.ScatterElements,
    data: Value,
    indices: Value,
    updates: Value,
) -> Value:
    return _import_elements(c, op.axis, data, indices, updates)


def _import_elements(c: Import, axis: int, data: Value, indices: Value, updates: Value) -> Value:
    if c.opset < 8:
        # The specification of this opset does not allow negative indices.
        indices = c.non_negative(indices, data, axis)
    return c(ov.ScatterElementsUpdate(), data, indices, updates, c.i64(axis))


@imports(onnx.ScatterElements16)
def import_scatter_elements_16(
    c: Import, op: onnx.ScatterElements16, data: Value, indices: Value, updates: Value
) -> Value:
    if op.reduction == "none":
        return _import_elements(c, op.axis, data, indices, updates)
    if c.has(12, *elements_table(data, indices, op.axis)):
        newer = ov.ScatterElementsUpdate12(_TO_OPENVINO[op.reduction])
        return c(newer, data, indices, updates, c.i64(op.axis))
    inputs = (data, indices, updates)
    return elements_by_comparing(c, op.reduction, op.axis, inputs)


@imports(onnx.ScatterND)
def import_scatter_nd(
    c: Import, op: onnx.ScatterND, data: Value, indices: Value, updates: Value
) -> Value:
    return _import_rows(c, data, indices, updates)


def _import_rows(c: Import, data: Value, indices: Value, updates: Value) -> Value:
    if c.opset < 8:
        indices = c.non_negative_coordinates(indices, data)
    return c(ov.ScatterNDUpdate(), data, indices, updates)


@imports(onnx.ScatterND16)
def import_scatter_nd_16(
    c: Import, op: onnx.ScatterND16, data: Value, indices: Value, updates: Value
) -> Value:
    if op.reduction == "none":
        return _import_rows(c, data, indices, updates)
    if c.has(15, *rows_table(data, indices, updates)):
        return c(ov.ScatterNDUpdate15(_TO_OPENVINO[op.reduction]), data, indices, updates)
    return rows_by_comparing(c, op.reduction, (data, indices, updates))
