"""Writes an IR body as the body of an ONNX Loop."""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms import onnx_shape_forms as shape_forms
from irloop.conversion.framework.translation import Conversion
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
from irloop.dialects.loops import is_consistent
from irloop.graph.builder import shape_of
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["export_as_loop"]


def export_as_loop(
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
        if not is_consistent(port):
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
        # Slice i of a reversed range starts i steps before the upper bound of the range.
        offset = [item + step for item in offset]
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
