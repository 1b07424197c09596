"""Converts Reverse, ReverseSequence, Roll and Trilu."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import comparison as onnx_comparison
from irloop.dialects.onnx import elementwise as onnx_elementwise
from irloop.dialects.onnx import reorder as onnx
from irloop.dialects.onnx import search as onnx_search
from irloop.dialects.openvino import comparison as ov_comparison
from irloop.dialects.openvino import reorder as ov
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import ints, needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.Reverse)
def export_reverse(c: Export, op: ov.Reverse, data: Value, axes: Value) -> Value:
    """Write Reverse as a Slice with a step of -1."""
    chosen = ints(c, axes)
    if chosen is None:
        return _reversed_by_input(c, op, data, axes)
    if op.mode.lower() == "mask":
        chosen = [at for at, acts in enumerate(chosen) if acts]
    if not chosen:
        return data
    count = len(chosen)
    return c.slice(data, [-1] * count, [-TO_THE_END] * count, chosen, [-1] * count)


def _reversed_by_input(c: Export, op: ov.Reverse, data: Value, axes: Value) -> Value:
    """Reverse along axes that an input lists, or marks in a mask."""
    if op.mode.lower() == "mask":
        marks = c.convert(c.as_list(axes), ElementType.BOOLEAN)
        chosen = c.reshape(c(onnx_search.NonZero(), marks), [-1])
    else:
        chosen = c.as_list(c.as_i64(axes))
    count = c.shape_of(chosen)
    last, end = (
        c.constant_of_shape(count, number, ElementType.I64) for number in (-1, -TO_THE_END)
    )
    return c.slice_by(data, last, end, chosen, last)


@exports(ov.ReverseSequence)
def export_reverse_sequence(
    c: Export, op: ov.ReverseSequence, data: Value, lengths: Value
) -> Value:
    """Write ReverseSequence, between two Transposes if its axes are not the first two."""
    if element_of(data) is ElementType.BF16:

        def build(wide: Value) -> Value:
            return export_reverse_sequence(c, op, wide, lengths)

        return c.computed_in(ElementType.F32, build, data)
    counts = c.as_i64(lengths)
    if sorted((op.batch_axis, op.seq_axis)) == [0, 1]:
        return c(onnx.ReverseSequence(op.batch_axis, op.seq_axis), data, counts)
    rank = needed_rank(c, data)
    batch, time = op.batch_axis % rank, op.seq_axis % rank
    order = [batch, time, *(at for at in range(rank) if at not in (batch, time))]
    moved = c.transpose(data, order)
    turned = c(onnx.ReverseSequence(0, 1), moved, counts)
    return c.transpose(turned, [order.index(at) for at in range(rank)])


@imports(onnx.ReverseSequence)
def import_reverse_sequence(
    c: Import, op: onnx.ReverseSequence, data: Value, lengths: Value
) -> Value:
    return c(ov.ReverseSequence(op.batch_axis, op.time_axis), data, lengths)


@exports(ov.Roll)
def export_roll(c: Export, op: ov.Roll, data: Value, shift: Value, axes: Value) -> Value:
    """Write Roll as a Concat of the tail and the head of each axis.

    If the shift or the axes are computed, each axis is rolled by the sum of the shifts that name
    it.
    """
    shifts, chosen = ints(c, shift), ints(c, axes)
    if shifts is None or chosen is None:
        return _rolled_by_input(c, data, shift, axes)
    if len(shifts) == 1:
        shifts *= len(chosen)
    for axis, steps in zip(chosen, shifts, strict=True):
        if steps:
            data = _rolled(c, data, axis, steps)
    return data


def _rolled_by_input(c: Export, data: Value, shift: Value, axes: Value) -> Value:
    rank = needed_rank(c, data)
    named = c.as_list(c.as_i64(axes))
    steps = c.as_list(c.as_i64(shift))
    nothing = c.i64([0])
    for axis in range(rank):
        from_start, from_end = (c.equal(named, c.i64([at])) for at in (axis, axis - rank))
        is_named = c(onnx_comparison.Or(), from_start, from_end)
        total = c.reduce("Sum", c.select(is_named, steps, nothing), [0], keep=True)
        data = _rolled(c, data, axis, c.subtract(nothing, total))
    return data


def _rolled(c: Export, data: Value, axis: int, steps: int | Value) -> Value:
    """Move the elements forwards by a number of `steps`, or backwards by the number in a list."""
    dim = shape_of(data).dim(axis)
    if isinstance(dim, int) and isinstance(steps, int):
        cut = -steps % dim if dim else 0
        if cut == 0:
            return data
        tail = c.slice(data, [cut], [TO_THE_END], [axis])
        head = c.slice(data, [0], [cut], [axis])
        return c.concat([tail, head], axis)
    # Mod has the sign of the divisor, so the cut is inside the axis. Max avoids a divisor of 0.
    size = c.sizes_of(data, [axis])
    whole = c.maximum(size, c.i64([1]))
    backwards = c.i64([-steps]) if isinstance(steps, int) else steps
    begin = c(onnx_elementwise.Mod(), backwards, whole)
    bounds = c.i64([axis])
    tail = c.slice_by(data, begin, c.i64([TO_THE_END]), bounds)
    head = c.slice_by(data, c.i64([0]), begin, bounds)
    return c.concat([tail, head], axis)


@imports(onnx.Trilu)
def import_trilu(c: Import, op: onnx.Trilu, data: Value, k: Value | None = None) -> Value:
    """Write Trilu as a Select of the data or 0.

    The condition compares the row number of each element with its column number.
    """
    rows, columns = (c.numbers_below(c.size_of(data, axis)) for axis in (-2, -1))
    start = c.unsqueeze(rows, [1])
    if k is not None:
        shift = c.as_scalar(c.as_i64(k))
        start = c.add(start, shift)
    keep = ov_comparison.GreaterEqual() if op.upper else ov_comparison.LessEqual()
    zero = c.constant(0, element_of(data))
    return c.select(c(keep, columns, start), data, zero)
