"""Writes an IR body as the body of an ONNX Scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, repeat

from irloop.conversion.forms import onnx_shape_forms as shape_forms
from irloop.conversion.forms.axis_forms import merge_axes, split_axis
from irloop.conversion.framework.translation import Conversion
from irloop.conversion.loops.loop_parts import (
    LoopPlan,
    as_type,
    bind_constant_parameters,
    given,
    is_single,
    zeros_like_type,
)
from irloop.conversion.loops.onnx_loop_builder import OnnxScanBuilder
from irloop.dialects.loops import is_consistent
from irloop.graph.builder import shape_of
from irloop.graph.clone import clone_graph
from irloop.graph.inference import Inference
from irloop.graph.loops import Carried, Concatenated, Invariant, LastValue, Sliced
from irloop.graph.model import Value
from irloop.graph.types import Shape, TensorType, ValueType

__all__ = ["can_scan", "export_as_scan"]

#: A slice bound that is beyond the end of every tensor, as ONNX writes it.
TO_THE_END = 2**63 - 1

#: A size that hardly occurs in models, which replaces unknown dimensions.
SOME_LENGTH = 7919

#: The difference between the lengths of two values; the axes of one value have nearer lengths.
LENGTHS_APART = 1009


def can_scan(plan: LoopPlan, inputs: tuple[Value | None, ...]) -> bool:
    """Return whether a Scan can express a loop.

    Its slices must have no gaps or overlaps, and its states must be tensors that keep their shape.
    """
    for port in plan.sliced:
        value = inputs[port.external]
        known_rank = value is not None and shape_of(value).rank is not None
        if not is_consistent(port) or (port.part_size != 1 and not known_rank):
            return False
    for state in plan.carried:
        value = inputs[state.external]
        if value is None:
            return False
        made = plan.result_type(state.result)
        if not isinstance(made, TensorType) or shape_of(value).refine(made.shape) is None:
            return False
    return not _some_state_widens(plan) and not _some_state_grows(plan)


def _some_state_widens(plan: LoopPlan) -> bool:
    """Return whether some dimension of a state is known initially, but changes in the loop.

    This is the case if the body parameter of the state has another or an unknown dimension.
    """
    node = plan.body.graph.owner
    assert node is not None
    for port in plan.carried:
        initial, held = node.inputs[port.external], plan.parameter_type(port.parameter)
        if initial is None or not isinstance(held, TensorType):
            continue
        pairs = zip(shape_of(initial).dims or (), held.shape.dims or (), strict=False)
        if any(isinstance(first, int) and first != later for first, later in pairs):
            return True
    return False


def _some_state_grows(plan: LoopPlan) -> bool:
    """Return whether an iteration changes the shape of a state that has unknown dimensions.

    To find out, the types of the body are inferred twice, with made-up lengths in place of the
    unknown dimensions:

    - All unknown dimensions get the same length. This finds states that grow or shrink.
    - Different dimensions get different lengths. This finds states that an iteration replaces by a
      value with other dimensions.

    Made-up lengths of two operands may contradict each other. The operation then keeps its declared
    types, because such operands have equal sizes whenever the loop runs.
    """
    types = [value.type for value in plan.body.graph.inputs]
    if all(_is_known(types[port.parameter]) for port in plan.carried):
        return False
    one = [_of_lengths(type, repeat(SOME_LENGTH)) for type in types]
    return _changes_a_state(plan, one) or _changes_a_state(plan, _of_own_lengths(plan))


def _changes_a_state(plan: LoopPlan, types: Sequence[ValueType]) -> bool:
    """Return whether an iteration changes the shape of a state.

    `types` are the types that the body's parameters have at the start of the iteration.
    """
    body = clone_graph(plan.body.graph)
    Inference(tolerant=True).run(body, types)
    for port in plan.carried:
        held, made = types[port.parameter], body.outputs[port.result].type
        if not isinstance(held, TensorType) or not isinstance(made, TensorType):
            continue
        if held.shape.refine(made.shape) is None:
            return True
    return False


def _of_own_lengths(plan: LoopPlan) -> list[ValueType]:
    """Return the types of the body's parameters, with made-up lengths for unknown dimensions.

    Each unknown dimension gets a different length. Only parameters that receive the same outer
    value get the same lengths.
    """
    node = plan.body.graph.owner
    assert node is not None
    types = [value.type for value in plan.body.graph.inputs]
    starts: dict[Value | None, int] = {}
    ports: list[Carried | Invariant | Sliced] = [*plan.carried, *plan.invariant, *plan.sliced]
    for port in ports:
        start = starts.setdefault(node.inputs[port.external], len(starts) * LENGTHS_APART)
        types[port.parameter] = _of_lengths(types[port.parameter], count(SOME_LENGTH + start, 2))
    return types


def _is_known(type: ValueType) -> bool:
    return not isinstance(type, TensorType) or type.shape.dims is None or type.shape.is_static


def _of_lengths(type: ValueType, lengths: Iterator[int]) -> ValueType:
    """Return `type` with each unknown dimension replaced by a length.

    The n-th length belongs to the n-th axis; it is skipped if that dimension is known. With the
    lengths 7, 8, 9, the shape [?,4,?] becomes [7,4,9].
    """
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return type
    sizes = zip(type.shape.dims, lengths, strict=False)
    dims = tuple(dim if isinstance(dim, int) else length for dim, length in sizes)
    return TensorType(type.element, Shape(dims))


def export_as_scan(
    c: Conversion, plan: LoopPlan, inputs: tuple[Value | None, ...]
) -> list[Value | None]:
    """Write the IR body in `plan` as an ONNX Scan and return its outputs."""
    scan = OnnxScanBuilder(c, "body")
    inner = scan.inner
    bound: dict[int, Value] = {}
    for port in plan.carried:
        type = plan.parameter_type(port.parameter)
        initial = as_type(c, given(c, inputs, port.external), type)
        bound[port.parameter] = scan.state(initial, type, plan.parameter_name(port.parameter))
    held = [out for out in plan.extra if _is_static(plan, out)]
    for out in held:
        type = plan.result_type(out.result)
        scan.state(zeros_like_type(c, type), type, "last")
    elements = {}
    for sliced in plan.sliced:
        whole = _in_parts(c, given(c, inputs, sliced.external), sliced)
        name = plan.parameter_name(sliced.parameter)
        elements[sliced.parameter] = scan.scan(whole, sliced.axis, sliced.stride < 0, name)
    for fixed in plan.invariant:
        value = as_type(c, given(c, inputs, fixed.external), plan.parameter_type(fixed.parameter))
        bound[fixed.parameter] = scan.capture(value)
    for sliced in plan.sliced:
        element = elements[sliced.parameter]
        if sliced.part_size == 1:
            element = shape_forms.unsqueeze(inner, element, [sliced.axis])
        bound[sliced.parameter] = as_type(inner, element, plan.parameter_type(sliced.parameter))
    parameters = bind_constant_parameters(inner, plan, bound, None)
    results = inner.convert_graph(plan.body.graph, parameters)
    states = [
        as_type(inner, results[port.result], plan.parameter_type(port.parameter))
        for port in plan.carried
    ]
    states += [results[out.result] for out in held]
    scans = [_part(inner, results[out.result], out) for out in plan.joined]
    stacked = [out for out in plan.extra if out not in held]
    scans += [(results[out.result], 0, False) for out in stacked]
    return _outputs(c, plan, scan.finish(states, scans), held, stacked)


def _is_static(plan: LoopPlan, out: LastValue) -> bool:
    type = plan.result_type(out.result)
    return isinstance(type, TensorType) and type.shape.is_static


def _in_parts(c: Conversion, value: Value, port: Sliced) -> Value:
    """Cut `value` to the range of the port, and split it if a part has several elements.

    The split turns the axis of the port into an axis of parts and an axis of elements in a part.
    """
    low, high = (port.start, port.end) if port.stride > 0 else (port.end, port.start)
    if (low, high) != (0, -1):
        ends = TO_THE_END if high == -1 else high if high >= 0 else high + 1
        starts = low if low >= 0 else TO_THE_END if low == -1 else low + 1
        value = shape_forms.slice_(c, value, [starts], [ends], [port.axis], [1])
    if port.part_size == 1:
        return value
    return split_axis(c, value, port.axis, port.part_size)


def _part(inner: Conversion, result: Value, port: Concatenated) -> tuple[Value, int, bool]:
    """Turn the body result of a concatenated output into an output of the Scan body.

    Returns the value, the axis along which the Scan joins it, and whether it joins in reverse
    order. If an iteration adds only one element along the axis, the value loses the axis, because
    the Scan inserts it again.
    """
    shape = shape_of(result)
    if shape.rank == 0:
        return result, 0, port.stride < 0
    if is_single(shape.dim(port.axis), port):
        result = shape_forms.squeeze(inner, result, [port.axis])
    return result, port.axis, port.stride < 0


def _outputs(
    c: Conversion,
    plan: LoopPlan,
    made: list[Value],
    held: list[LastValue],
    stacked: list[LastValue],
) -> list[Value | None]:
    outputs: list[Value | None] = [None] * len(c.node.outputs)
    for external, state in plan.last.items():
        outputs[external] = made[state]
    for offset, out in enumerate(held):
        outputs[out.external] = made[len(plan.carried) + offset]
    first = len(plan.carried) + len(held)
    for offset, port in enumerate(plan.joined):
        shape = shape_of(plan.body.graph.output(port.result))
        value = made[first + offset]
        if shape.rank != 0 and not is_single(shape.dim(port.axis), port):
            value = merge_axes(c, value, port.axis)
        outputs[port.external] = value
    first += len(plan.joined)
    for offset, out in enumerate(stacked):
        outputs[out.external] = shape_forms.gather(c, made[first + offset], c.i64(-1), 0)
    return outputs
