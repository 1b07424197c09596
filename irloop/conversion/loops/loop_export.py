"""Converts Loop and TensorIterator to ONNX Loop or Scan; `scan_export` writes the Scans."""

from __future__ import annotations

from irloop.analysis.patterns import is_in_iterator
from irloop.analysis.ranges import is_never_negative
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.loops.guarded_scan import export_guarded_scan
from irloop.conversion.loops.loop_parts import (
    CopiedStates,
    LoopPlan,
    as_type,
    is_single,
    join_parts,
)
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder
from irloop.conversion.loops.scan_export import can_scan, export_as_scan
from irloop.dialects.loops import joined_count, overlaps, sliced_count
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.control_flow import NO_LIMIT
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.builder import shape_of
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["export_loop", "export_tensor_iterator"]


@exports(ov.Loop)
def export_loop(c: Export, op: ov.Loop, *inputs: Value | None) -> list[Value | None]:
    """Write an ONNX Loop that captures its invariant inputs, or a Scan.

    A negative constant trip count becomes an omitted M. A Scan is written if the user prefers
    Scans, in the body of a TensorIterator, which holds no second one in IR, or if the number of
    slices is unknown, as a Scan of unknown length is such a Loop in IR; but only if it can express
    the Loop without any change.
    """
    trip, condition = inputs[0], inputs[1]
    assert trip is not None
    assert condition is not None
    plan = LoopPlan(c, inputs)
    prefers_scan = c.converter.options.get("prefer") == "scan" or is_in_iterator(c.node)
    if prefers_scan and _is_pure_scan(plan, trip, condition):
        return export_as_scan(plan)
    limit = _limit(c, trip)
    if limit is not None and c.constant_of(limit) is None and _only_slices_end(plan, condition):
        guarded = export_guarded_scan(plan, limit)
        if guarded is not None:
            return guarded
    return _export_as_loop(plan, limit, c.as_scalar(condition))


def _is_pure_scan(plan: LoopPlan, trip: Value, starts: Value) -> bool:
    """Return whether a Scan can express a Loop without any change.

    Its trip count must be the number of its slices.
    """
    count = plan.c.constant_of(trip)
    if count is None or not _only_slices_end(plan, starts):
        return False
    for wire, port in plan.slices:
        size = shape_of(plan.converted(wire)).dim(port.axis)
        if not isinstance(size, int) or sliced_count(port, size) != int(count.reshape(-1)[0]):
            return False
    return True


def _only_slices_end(plan: LoopPlan, starts: Value) -> bool:
    """Return whether a Scan can express a Loop that ends with its slices.

    Its condition must always be true, and its iteration number must not be read.
    """
    c, wires = plan.c, plan.wires
    start = c.constant_of(starts)
    if start is None or not bool(start.reshape(-1)[0]):
        return False
    if wires.iteration is not None and wires.iteration.is_used:
        return False
    if not plan.slices or not can_scan(plan):
        return False
    goes_on = None if wires.goes_on is None else c.converter.source.constant(wires.goes_on)
    return goes_on is not None and bool(goes_on.reshape(-1)[0])


def _limit(c: Export, trip: Value) -> Value | None:
    """Convert OpenVINO's trip count to ONNX's M: a negative trip count means no limit."""
    known = c.constant_of(trip)
    if known is not None:
        count = int(known.reshape(-1)[0])
        return None if count < 0 else c.i64(count)
    count_i64 = c.as_scalar(c.convert(trip, ElementType.I64))
    if is_never_negative(count_i64):
        return count_i64
    negative = c.less(count_i64, c.i64(0))
    return c.select(negative, c.i64(NO_LIMIT), count_i64)


@exports(ov.TensorIterator)
def export_tensor_iterator(
    c: Export, op: ov.TensorIterator, *inputs: Value | None
) -> list[Value | None]:
    """Write TensorIterator as a Scan over its slices, or as a Loop.

    A Loop is written if there are no slices, if a Scan cannot express the slices or the states, or
    if the opset has no Scan.
    """
    plan = LoopPlan(c, inputs)
    if not plan.slices or c.opset < onnx.Scan8.since or not can_scan(plan):
        return _export_as_loop(plan, _trip_count(plan), c.constant(True, ElementType.BOOLEAN))
    return export_as_scan(plan)


def _trip_count(plan: LoopPlan) -> Value:
    """The number of iterations as an i64 scalar."""
    c = plan.c
    for wire, port in plan.slices:
        value = plan.converted(wire)
        size = shape_of(value).dim(port.axis)
        if isinstance(size, int):
            return c.i64(sliced_count(port, size) or 0)
        length = c.size_of(value, port.axis)
        bounds = [
            c.add(length, c.i64(1 + bound)) if bound < 0 else c.i64(bound)
            for bound in (port.start, port.end)
        ]
        low, high = bounds if port.stride > 0 else reversed(bounds)
        return c.divide(c.subtract(high, low), c.i64(abs(port.stride)))
    return c.i64(joined_count(c.node.body().ports) or 0)


def _export_as_loop(plan: LoopPlan, limit: Value | None, starts: Value) -> list[Value | None]:
    """Write the IR body in `plan` as an ONNX Loop and return its outputs.

    `limit` is the trip count (None: no limit), and `starts` is the initial condition.
    """
    c = plan.c
    for wire, port in plan.slices:
        if overlaps(port):
            at = c.node.inputs.index(wire.outer)
            raise c.refuse(
                f"part_size {port.part_size} and stride {port.stride} of input {at} disagree",
                "write the same number in both",
            )
    loop = OnnxLoopBuilder(c, "body")
    inner = loop.inner
    states = CopiedStates(plan, loop, plan.extra)
    bound = states.bound
    firsts = [_start_from_end(c, plan.converted(wire), port) for wire, port in plan.slices]
    for fixed in plan.invariants:
        bound[fixed.parameter] = loop.capture(plan.initial(fixed))
    for (wire, port), start in zip(plan.slices, firsts, strict=True):
        source = loop.capture(plan.converted(wire))
        first = None if start is None else loop.capture(start)
        piece = _slice_of_iteration(inner, source, loop.iteration, port, first)
        bound[wire.parameter] = as_type(inner, piece, wire.parameter.type)
    results = plan.convert_body(inner, bound, loop.iteration)
    end = plan.wires.goes_on
    goes_on = (
        inner.constant(True, ElementType.BOOLEAN) if end is None else inner.as_scalar(results[end])
    )
    states.leave(results)
    joined = [
        (loop.stacked(_part(inner, results[old.value], port)), old, port)
        for old, port in plan.joined
    ]
    made = loop.finish(limit, starts, goes_on)
    outputs = states.outputs(made)
    for new, old, range_ in joined:
        stacked = made[new]
        if range_.stride < 0:
            stacked = c.reverse(stacked, 0)
        shape = shape_of(old.value)
        merge = shape.rank != 0 and not is_single(shape.dim(range_.axis), range_)
        axis = 0 if shape.rank == 0 else range_.axis
        outputs[old.output] = join_parts(c, stacked, axis, merge=merge)
    return [outputs.get(output) for output in c.node.outputs]


def _start_from_end(c: Export, value: Value, port: Sliced) -> Value | None:
    """Return the index of the first slice if it is given from the end of the axis, else None.

    A negative `port.start` is converted to an index from the front, as a scalar.
    """
    if port.start >= 0:
        return None
    size = shape_of(value).dim(port.axis)
    if isinstance(size, int):
        return c.i64(size + 1 + port.start)
    length = c.size_of(value, port.axis)
    return c.add(length, c.i64(1 + port.start))


def _slice_of_iteration(
    inner: Export, source: Value, iteration: Value, port: Sliced, first: Value | None
) -> Value:
    """Gather the slice of `source` for iteration number `iteration`, and keep the sliced axis.

    A negative `port.start` counts from the end of the axis. Then `first` must be the same position
    counted from the beginning; otherwise it is None. One element is gathered without its axis, as
    most bodies squeeze it.
    """
    step, base = port.stride, port.start
    # Slice i of a reversed range ends i steps before the upper bound of the range.
    before = port.part_size if step < 0 else 0
    index = iteration if step == 1 else inner.multiply(iteration, inner.i64(step))
    if first is not None:
        index, base = inner.add(index, first), 0
    if port.part_size == 1:
        start = base - before
        index = inner.add(index, inner.i64(start)) if start else index
        return inner.unsqueeze(inner.gather(source, index, port.axis), [port.axis])
    offsets = [base - before + place for place in range(port.part_size)]
    return inner.gather(source, inner.add(index, inner.i64(offsets)), port.axis)


def _part(inner: Export, result: Value, port: Concatenated) -> Value:
    """Return the part that one iteration adds to a concatenated output.

    If the part has one element along the concatenation axis, this axis is removed.
    """
    shape = shape_of(result)
    if shape.rank == 0 or not is_single(shape.dim(port.axis), port):
        return result
    return inner.squeeze(result, [port.axis])
