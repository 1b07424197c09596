"""Writes an IR Loop over slices of unknown length as an ONNX Scan in an If, and finds such an If.

ONNX Runtime runs a Scan faster than a Loop, but refuses to scan an axis of length 0 (ORT108). The
If runs the Scan only if there is an element; otherwise it gives what the Loop gives without an
iteration: the initial states and empty scan outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from irloop.analysis.operands import integers_in, is_length_of
from irloop.conversion.framework.directions import Export
from irloop.conversion.loops.axes import filled
from irloop.conversion.loops.loop_parts import LoopPlan, zeros_like_type
from irloop.conversion.loops.scan_export import export_as_scan
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.comparison import Less
from irloop.dialects.onnx.convert import Identity
from irloop.dialects.onnx.shape import Transpose
from irloop.dialects.onnx.slicing import Slice10
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.wire_ends import inward, outward, passed_on, states_of
from irloop.dialects.wires import branch_ports
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import ScanInput, ScanOutput, Sliced
from irloop.graph.model import Body, Node, Value
from irloop.graph.rewriter import Rewriter

__all__ = ["export_guarded_scan", "guards_a_scan"]

#: The first opset whose If may return different shapes.
SHAPES_DIFFER = 11

#: Operations that keep the elements.
MOVING = classes_of("Reshape", "Transpose")


def export_guarded_scan(plan: LoopPlan, count: Value) -> list[Value | None] | None:
    """Write a Loop that only its slices end as an If with a Scan; None if that is not possible.

    `count` is its trip count, which must be the length of one of its slices. Slices of other
    tensors end there, too.
    """
    c = plan.c
    slices = [_scanned(plan, wire.outer, port) for wire, port in plan.slices]
    lengths = [is_length_of(count, value, port.axis) for value, port in slices]
    unranked = any(shape_of(old.output).rank is None for old, _ in plan.joined)
    if c.opset < SHAPES_DIFFER or not any(lengths) or unranked:
        return None
    if not all(known or port.stride == 1 for known, (_, port) in zip(lengths, slices, strict=True)):
        return None
    ends = c.reshape(count, [1])
    outer, ports = dict(plan.values), []
    for (wire, _), (value, port), known in zip(plan.slices, slices, lengths, strict=True):
        outer[wire.outer] = value if known else _cut(c, value, port.axis, ends)
        ports.append(port)
    captured: dict[Value, int] = {}
    bodies = tuple(
        _branch(plan, label, write, outer, ports, captured)
        for label, write in (("then", export_as_scan), ("else", _without_iterations))
    )
    made = c.graph.add_node(
        onnx.If(),
        c.names.fresh(f"{c.prefix}/If"),
        (c(Less(), c.i64(0), count), *captured),
        len(c.node.outputs),
        bodies=bodies,
        location=c.location,
    )
    c.inference.visit(made)
    return list(made.outputs)


def _scanned(plan: LoopPlan, outer: Value, port: Sliced) -> tuple[Value, Sliced]:
    """What a slice runs over, and its port: a reversed tensor is scanned in the other direction."""
    value = plan.values[outer]
    node, readers = value.producer, [wire for wire in plan.wires.inputs if wire.outer is outer]
    if not isinstance(node.op, Slice10) or len(node.inputs) < 5 or len(readers) > 1:
        return value, port
    tensor, (starts, ends, axes, steps) = node.inputs[0], map(integers_in, node.inputs[1:])
    is_reversed = starts == steps == [-1] and axes == [port.axis]
    if tensor is None or not is_reversed or len(ends) != 1 or ends[0] > -TO_THE_END:
        return value, port
    return tensor, replace(port, start=port.end, end=port.start, stride=-port.stride)


def _branch(
    plan: LoopPlan,
    label: str,
    write: Callable[[LoopPlan], list[Value | None]],
    outer: Mapping[Value, Value],
    ports: Sequence[Sliced],
    captured: dict[Value, int],
) -> Body:
    """Make a branch of the If: `write` writes what it returns.

    `outer` has the converted inputs of the Loop, `ports` the ports of its slices. `captured` counts
    the inputs of the If; those that the branch needs are added.
    """
    c = plan.c
    inner = c.nested(label)
    # Several inputs of the Loop may have become one value.
    entering = {
        value: inner.parameter(value.producer.name, value.type)
        for value in dict.fromkeys(outer.values())
    }
    given = c.node.inputs
    inputs = [None if old is None or old not in outer else entering[outer[old]] for old in given]
    branch = LoopPlan(inner, inputs)
    branch.slices = [(wire, port) for (wire, _), port in zip(branch.slices, ports, strict=True)]
    for value in write(branch):
        assert value is not None
        inner.result(value, inner.names.fresh(f"{value.producer.name}/out"))
    rewriter = Rewriter(inner.graph)
    for parameter in entering.values():
        if not parameter.is_used:
            rewriter.erase_parameter(parameter.producer)
    kept = [value for value, parameter in entering.items() if parameter.is_used]
    externals = [captured.setdefault(value, 1 + len(captured)) for value in kept]
    return Body(label, inner.graph, branch_ports(externals, len(c.node.outputs)))


def _without_iterations(plan: LoopPlan) -> list[Value | None]:
    """Emit what a Loop gives without an iteration: initial states, zeros, and nothing joined."""
    c = plan.c
    by_output = {shown.output: c(Identity(), plan.initial(state)) for shown, state in plan.lasts}
    by_output |= {shown.output: zeros_like_type(c, shown.value.type) for shown in plan.extra}
    for shown, port in plan.joined:
        dims = shape_of(shown.output).dims or ()
        sizes = [dim if isinstance(dim, int) else 0 for dim in dims]
        sizes[port.axis] = 0
        by_output[shown.output] = filled(c, 0, element_of(shown.output), sizes)
    return [by_output.get(output) for output in c.node.outputs]


def _cut(c: Export, value: Value, axis: int, ends: Value) -> Value:
    return c.slice_by(value, c.i64([0]), ends, c.i64([axis]))


def guards_a_scan(node: Node) -> bool:
    """Return whether an If only keeps a Scan from running over no element.

    Its condition is that a scanned axis has an element. Its other branch returns the initial states
    and empty tensors, as the Scan does by the specification.
    """
    scanning, idle = node.body("then"), node.body("else")
    scans = [item for item in scanning.graph.nodes if isinstance(item.op, onnx.Scan)]
    outer = {item.parameter: item.outer for item in inward(node, scanning)}
    kept = {item.parameter: item.outer for item in inward(node, idle)}
    if len(scans) != 1 or not _has_element(node.inputs[0], scans[0], outer):
        return False
    (scan,) = scans
    firsts = {item.result: outer[item.outer] for item in states_of(scan) if item.outer in outer}
    shown = {item.output: item for item in outward(scan, scan.body())}
    for value, otherwise in zip(scanning.graph.outputs, idle.graph.outputs, strict=True):
        made = shown.get(_unmoved(value))
        if made is None:
            return False
        if isinstance(made.port, ScanOutput):
            is_same = shape_of(otherwise).count() == 0
        else:
            first = firsts.get(made.result)
            is_same = value is made.output and first is not None
            is_same = is_same and first is kept.get(passed_on(otherwise))
        if not is_same:
            return False
    return True


def _unmoved(value: Value) -> Value:
    while isinstance(value.producer.op, MOVING) and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value


def _has_element(condition: Value | None, scan: Node, outer: Mapping[Value, Value | None]) -> bool:
    """Return whether a condition is that what a Scan runs over has an element.

    `outer` has the values that enter the branch around the Scan, by its parameters.
    """
    node = None if condition is None else condition.producer
    count = None if node is None or not isinstance(node.op, Less) else node.inputs[1]
    if node is None or count is None or integers_in(node.inputs[0]) != [0]:
        return False
    for wire in inward(scan, scan.body()):
        if not isinstance(wire.port, ScanInput) or wire.outer is None:
            continue
        value, axis = _before_transpose(wire.outer, wire.port.axis)
        whole = outer.get(value)
        if whole is not None and is_length_of(count, whole, axis):
            return True
    return False


def _before_transpose(value: Value, axis: int) -> tuple[Value, int]:
    """The value whose axes a Transpose exchanges, and which of them becomes `axis`."""
    op, source = value.producer.op, value.producer.inputs[:1]
    if not isinstance(op, Transpose) or not op.perm or source[0] is None:
        return value, axis
    return source[0], op.perm[axis]
