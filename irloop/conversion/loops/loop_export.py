"""Converts Loop and TensorIterator to ONNX Loop or Scan; `scan_export` writes the Scans."""

from __future__ import annotations

from irloop.analysis.ranges import is_never_negative
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms import onnx_shape_forms as shape_forms
from irloop.conversion.framework.translation import Conversion, exports
from irloop.conversion.loops.loop_parts import (
    LoopPlan,
    as_type,
    bind_constant_parameters,
    given,
    is_single,
    join_parts,
    scalar,
    zeros_like_type,
)
from irloop.conversion.loops.onnx_loop_builder import OnnxLoopBuilder, reverse_axis
from irloop.conversion.loops.scan_export import can_scan, export_as_scan
from irloop.dialects.loops import joined_count, overlaps, sliced_count
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.builder import shape_of
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["export_loop", "export_tensor_iterator"]

#: The ONNX trip count that means "no limit" if M cannot be omitted.
NO_LIMIT = 2**63 - 1


@exports(ov.Loop)
def export_loop(c: Conversion, op: ov.Loop, *inputs: Value | None) -> list[Value | None]:
    """Write an ONNX Loop that captures its invariant inputs, or a Scan if the user prefers Scans.

    A negative constant trip count becomes an omitted M. A Scan is written only if it can express
    the Loop without any change.
    """
    trip, condition = inputs[0], inputs[1]
    assert trip is not None
    assert condition is not None
    plan = LoopPlan.of(c, has_condition=True)
    if c.converter.options.get("prefer") == "scan" and _is_pure_scan(c, plan, inputs):
        return export_as_scan(c, plan, inputs)
    return _export_as_loop(c, plan, inputs, _limit(c, trip), scalar(c, condition))


def _is_pure_scan(c: Conversion, plan: LoopPlan, inputs: tuple[Value | None, ...]) -> bool:
    """Return whether a Scan can express a Loop without any change.

    Its trip count must be the number of its slices, its condition always true, and its iteration
    number must not be read.
    """
    body = plan.body
    trip, starts = c.constant_of(given(c, inputs, 0)), c.constant_of(given(c, inputs, 1))
    if trip is None or starts is None or not bool(starts.reshape(-1)[0]):
        return False
    number = body.ports.iteration
    if number is not None and body.graph.input(number).is_used:
        return False
    if not plan.sliced or not can_scan(plan, inputs):
        return False
    at = body.ports.condition
    goes_on = None if at is None else c.converter.source.constant(body.graph.output(at))
    if goes_on is None or not bool(goes_on.reshape(-1)[0]):
        return False
    for port in plan.sliced:
        size = shape_of(given(c, inputs, port.external)).dim(port.axis)
        if not isinstance(size, int) or sliced_count(port, size) != int(trip.reshape(-1)[0]):
            return False
    return True


def _limit(c: Conversion, trip: Value) -> Value | None:
    """Convert OpenVINO's trip count to ONNX's M: a negative trip count means no limit."""
    known = c.constant_of(trip)
    if known is not None:
        count = int(known.reshape(-1)[0])
        return None if count < 0 else c.i64(count)
    count_i64 = scalar(c, forms.cast(c, trip, ElementType.I64))
    if is_never_negative(count_i64):
        return count_i64
    negative = forms.less(c, count_i64, c.i64(0))
    return forms.where(c, negative, c.i64(NO_LIMIT), count_i64)


@exports(ov.TensorIterator)
def export_tensor_iterator(
    c: Conversion, op: ov.TensorIterator, *inputs: Value | None
) -> list[Value | None]:
    """Write TensorIterator as a Scan over its slices, or as a Loop.

    A Loop is written if there are no slices, or if a Scan cannot express the slices or the states.
    """
    plan = LoopPlan.of(c, has_condition=False)
    if not plan.sliced or not can_scan(plan, inputs):
        return _export_as_loop(
            c, plan, inputs, _trip_count(c, plan, inputs), c.constant(True, ElementType.BOOLEAN)
        )
    return export_as_scan(c, plan, inputs)


def _trip_count(c: Conversion, plan: LoopPlan, inputs: tuple[Value | None, ...]) -> Value:
    """The number of iterations as an i64 scalar."""
    for port in plan.sliced:
        value = inputs[port.external]
        assert value is not None
        size = shape_of(value).dim(port.axis)
        if isinstance(size, int):
            return c.i64(sliced_count(port, size) or 0)
        length = shape_forms.gather(c, shape_forms.shape(c, value), c.i64(port.axis), 0)
        bounds = [
            forms.add(c, length, c.i64(1 + bound)) if bound < 0 else c.i64(bound)
            for bound in (port.start, port.end)
        ]
        low, high = bounds if port.stride > 0 else reversed(bounds)
        return forms.div(c, forms.sub(c, high, low), c.i64(abs(port.stride)))
    return c.i64(joined_count(plan.body.ports) or 0)


def _export_as_loop(
    c: Conversion,
    plan: LoopPlan,
    inputs: tuple[Value | None, ...],
    limit: Value | None,
    starts: Value,
) -> list[Value | None]:
    """Write the IR body in `plan` as an ONNX Loop and return its outputs.

    `inputs` are the inputs of the IR loop, `limit` is the trip count (None: no limit), and `starts`
    is the initial condition.
    """
    for port in plan.sliced:
        if overlaps(port):
            raise c.refuse(
                f"part_size {port.part_size} and stride {port.stride} of input {port.external} "
                "disagree",
                "write the same number in both",
            )
    loop = OnnxLoopBuilder(c, "body")
    inner = loop.inner
    bound: dict[int, Value] = {}
    for state in plan.carried:
        type = plan.parameter_type(state.parameter)
        initial = as_type(c, given(c, inputs, state.external), type)
        bound[state.parameter] = loop.state(initial, type, plan.parameter_name(state.parameter))
    for out in plan.extra:
        type = plan.result_type(out.result)
        loop.state(zeros_like_type(c, type), type, "last")
    slice_starts = {
        port.parameter: _start_from_end(c, given(c, inputs, port.external), port)
        for port in plan.sliced
    }
    for fixed in plan.invariant:
        value = as_type(c, given(c, inputs, fixed.external), plan.parameter_type(fixed.parameter))
        bound[fixed.parameter] = loop.capture(value)
    for sliced in plan.sliced:
        source = loop.capture(given(c, inputs, sliced.external))
        start = slice_starts[sliced.parameter]
        first = None if start is None else loop.capture(start)
        piece = _slice_of_iteration(inner, source, loop.iteration, sliced, first)
        bound[sliced.parameter] = as_type(inner, piece, plan.parameter_type(sliced.parameter))
    parameters = bind_constant_parameters(inner, plan, bound, loop.iteration)
    results = inner.convert_graph(plan.body.graph, parameters)
    at = plan.body.ports.condition
    goes_on = (
        inner.constant(True, ElementType.BOOLEAN) if at is None else scalar(inner, results[at])
    )
    states = [
        as_type(inner, results[port.result], plan.parameter_type(port.parameter))
        for port in plan.carried
    ]
    states += [results[out.result] for out in plan.extra]
    scans = [_part(inner, results[port.result], port) for port in plan.joined]
    return _outputs(c, plan, loop.finish(limit, starts, goes_on, states, scans))


def _start_from_end(c: Conversion, value: Value, port: Sliced) -> Value | None:
    """Return the index of the first slice if it is given from the end of the axis, else None.

    A negative `port.start` is converted to an index from the front, as a one-element vector.
    """
    if port.start >= 0:
        return None
    size = shape_of(value).dim(port.axis)
    if isinstance(size, int):
        return c.i64([size + 1 + port.start])
    length = shape_forms.gather(c, shape_forms.shape(c, value), c.i64([port.axis]), 0)
    return forms.add(c, length, c.i64([1 + port.start]))


def _slice_of_iteration(
    inner: Conversion, source: Value, iteration: Value, port: Sliced, first: Value | None
) -> Value:
    """Gather the slice of `source` for iteration number `iteration`, and keep the sliced axis.

    A negative `port.start` counts from the end of the axis. Then `first` must be the same position
    counted from the beginning; otherwise it is None.
    """
    step = port.stride
    offset = list(range(port.part_size))
    if step < 0:
        # Slice i of a reversed range ends i steps before the upper bound of the range.
        offset = [item - port.part_size for item in offset]
    base = inner.i64([port.start]) if first is None else first
    moved = forms.mul(inner, iteration, inner.i64([step]))
    index = forms.add(inner, forms.add(inner, moved, base), inner.i64(offset))
    return shape_forms.gather(inner, source, index, port.axis)


def _part(inner: Conversion, result: Value, port: Concatenated) -> Value:
    """Return the part that one iteration adds to a concatenated output.

    If the part has one element along the concatenation axis, this axis is removed.
    """
    shape = shape_of(result)
    if shape.rank == 0 or not is_single(shape.dim(port.axis), port):
        return result
    return shape_forms.squeeze(inner, result, [port.axis])


def _outputs(c: Conversion, plan: LoopPlan, made: list[Value]) -> list[Value | None]:
    outputs: list[Value | None] = [None] * len(c.node.outputs)
    for external, state in plan.last.items():
        outputs[external] = made[state]
    for offset, out in enumerate(plan.extra):
        outputs[out.external] = made[len(plan.carried) + offset]
    first = len(plan.carried) + len(plan.extra)
    for offset, port in enumerate(plan.joined):
        stacked = made[first + offset]
        if port.stride < 0:
            stacked = reverse_axis(c, stacked, 0)
        result = c.node.body().graph.output(port.result)
        shape = shape_of(result)
        merge = shape.rank != 0 and not is_single(shape.dim(port.axis), port)
        axis = 0 if shape.rank == 0 else port.axis
        outputs[port.external] = join_parts(c, stacked, axis, merge=merge)
    return outputs
