"""Writes an IR body as the body of an ONNX Scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, repeat

from irloop.conversion.framework.directions import Export
from irloop.conversion.loops.axes import merge_axes, split_axis
from irloop.conversion.loops.loop_parts import (
    CopiedStates,
    LoopPlan,
    as_type,
    is_single,
)
from irloop.conversion.loops.onnx_loop_builder import OnnxScanBuilder
from irloop.dialects.loops import is_consistent
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.wire_ends import Leaving
from irloop.graph.builder import shape_of
from irloop.graph.clone import clone_graph
from irloop.graph.inference import Inference
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Value
from irloop.graph.types import Shape, TensorType, ValueType

__all__ = ["can_scan", "export_as_scan"]

#: A size that hardly occurs in models, which replaces unknown dimensions.
SOME_LENGTH = 7919

#: The difference between the lengths of two values; the axes of one value have nearer lengths.
LENGTHS_APART = 1009


def can_scan(plan: LoopPlan) -> bool:
    """Return whether a Scan can express a loop.

    Its slices must have no gaps or overlaps, and its states must be tensors that keep their shape.
    """
    for wire, port in plan.slices:
        known_rank = shape_of(plan.converted(wire)).rank is not None
        if not is_consistent(port) or (port.part_size != 1 and not known_rank):
            return False
    for state in plan.states:
        made = state.following.type
        initial = shape_of(plan.converted(state))
        if not isinstance(made, TensorType) or initial.refine(made.shape) is None:
            return False
    return not _some_state_widens(plan) and not _some_state_grows(plan)


def _some_state_widens(plan: LoopPlan) -> bool:
    """Return whether some dimension of a state is known initially, but changes in the loop.

    This is the case if the body parameter of the state has another or an unknown dimension.
    """
    for state in plan.states:
        held = state.parameter.type
        if not isinstance(held, TensorType):
            continue
        pairs = zip(shape_of(state.outer).dims or (), held.shape.dims or (), strict=False)
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
    if all(_is_known(state.parameter.type) for state in plan.states):
        return False
    inputs = plan.wires.graph.inputs
    one = [_of_lengths(value.type, repeat(SOME_LENGTH)) for value in inputs]
    return _changes_a_state(plan, one) or _changes_a_state(plan, _of_own_lengths(plan))


def _changes_a_state(plan: LoopPlan, types: Sequence[ValueType]) -> bool:
    """Return whether an iteration changes the shape of a state.

    `types` are the types that the body's parameters have at the start of the iteration.
    """
    graph = plan.wires.graph
    body = clone_graph(graph)
    Inference(tolerant=True).run(body, types)
    before = dict(zip(graph.inputs, types, strict=True))
    after = {old: new.type for old, new in zip(graph.outputs, body.outputs, strict=True)}
    for state in plan.states:
        held, made = before[state.parameter], after[state.following]
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
    types = {value: value.type for value in plan.wires.graph.inputs}
    starts: dict[Value, int] = {}
    for wire in (*plan.states, *plan.invariants, *plan.wires.slices):
        start = starts.setdefault(wire.outer, len(starts) * LENGTHS_APART)
        lengths = count(SOME_LENGTH + start, 2)
        types[wire.parameter] = _of_lengths(wire.parameter.type, lengths)
    return list(types.values())


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


def export_as_scan(plan: LoopPlan) -> list[Value | None]:
    """Write the IR body in `plan` as an ONNX Scan and return its outputs."""
    c, scan = plan.c, OnnxScanBuilder(plan.c, "body")
    inner = scan.inner
    held = [old for old in plan.extra if _is_static(old.value.type)]
    states = CopiedStates(plan, scan, held)
    bound = states.bound
    elements = []
    for wire, port in plan.slices:
        whole = _in_parts(c, plan.converted(wire), port)
        name = wire.parameter.producer.name
        elements.append(scan.scan(whole, port.axis, port.stride < 0, name))
    for fixed in plan.invariants:
        bound[fixed.parameter] = scan.capture(plan.initial(fixed))
    for (wire, port), element in zip(plan.slices, elements, strict=True):
        single = port.part_size == 1
        piece = inner.unsqueeze(element, [port.axis]) if single else element
        bound[wire.parameter] = as_type(inner, piece, wire.parameter.type)
    results = plan.convert_body(inner, bound, None)
    states.leave(results)
    joined = [(_joined(scan, results[old.value], port), old, port) for old, port in plan.joined]
    stacked = [(scan.stacked(results[old.value]), old) for old in plan.extra if old not in held]
    made = scan.finish()
    outputs = states.outputs(made)
    for new, old, range_ in joined:
        shape, value = shape_of(old.value), made[new]
        if shape.rank != 0 and not is_single(shape.dim(range_.axis), range_):
            value = merge_axes(c, value, range_.axis)
        outputs[old.output] = value
    for new, old in stacked:
        outputs[old.output] = c.gather(made[new], c.i64(-1), 0)
    return [outputs.get(output) for output in c.node.outputs]


def _is_static(type: ValueType) -> bool:
    return isinstance(type, TensorType) and type.shape.is_static


def _in_parts(c: Export, value: Value, port: Sliced) -> Value:
    """Cut `value` to the range of the port, and split it if a part has several elements.

    The split turns the axis of the port into an axis of parts and an axis of elements in a part.
    """
    low, high = (port.start, port.end) if port.stride > 0 else (port.end, port.start)
    if (low, high) != (0, -1):
        ends = TO_THE_END if high == -1 else high if high >= 0 else high + 1
        starts = low if low >= 0 else TO_THE_END if low == -1 else low + 1
        value = c.slice(value, [starts], [ends], [port.axis], [1])
    if port.part_size == 1:
        return value
    return split_axis(c, value, port.axis, port.part_size)


def _joined(scan: OnnxScanBuilder, result: Value, port: Concatenated) -> Leaving:
    """Add the Scan output for a concatenated output of IR.

    If an iteration adds only one element along the axis, the value loses the axis, because the Scan
    inserts it again.
    """
    shape, reverse = shape_of(result), port.stride < 0
    if shape.rank == 0:
        return scan.stacked(result, 0, reverse)
    if is_single(shape.dim(port.axis), port):
        result = scan.inner.squeeze(result, [port.axis])
    return scan.stacked(result, port.axis, reverse)
