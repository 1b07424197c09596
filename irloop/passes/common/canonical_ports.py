"""Brings the port maps of loops into one normal form."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects.loops import normal_axis, sliced_count
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import INVARIANT, Entering, Leaving
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import (
    Concatenated,
    InputPort,
    LastValue,
    OutputPort,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires, is_passed_on
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["CanonicalPorts"]


class CanonicalPorts(LoopPass):
    """Brings port maps, body parameters and body results of loops into one normal form.

    Given::

        TensorIterator(x, x, h, w):
          p: x[axis -1, 5..0, stride -1]   q: x[axis -1, 5..0, stride -1]
          a: h, a' = a + p                 b: w, b' = b          -> last a, last b
          (u: not read)

    Result::

        TensorIterator(h, x):
          a: h, a' = a + p                 p: x[axis 1, -1..0, stride -1]   -> last a
        (readers of last b read w)

    Axes become non-negative, unless the rank of the tensor is unknown. A range that covers the
    whole axis is written 0..-1, or -1..0 for a negative stride; in the example, the axis has 5
    elements. If a TensorIterator slices only a part of an axis of known size, this part is cut out
    before the loop. OpenVINO's CPU plugin would take the first slice from the start of the axis
    (from its end, if the stride is negative), not from the start of the range.

    Equal connections are merged, and unread parameters are removed. A loop that is left without
    outputs is removed, too. States come first, then slices, then invariants; outputs keep their
    order.

    States that never change become invariants or constants, with two exceptions. A state stays if
    its last value is an output of the enclosing graph, because this output would lose its name. The
    only state of an ONNX Loop also stays before opset 11, because such a Loop needs a state.
    """

    name = "canonical_ports"

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        body = node.body()
        before = (node.inputs, body.ports, [*body.graph.inputs], [*body.graph.outputs])
        inner = self.session.rewriter(body.graph)
        w = writer_at(self.model, rewriter, node, node.name)
        changed = False
        for item in wires.inputs:
            item.port = _input_form(node, item, w)
        for leaving in wires.outputs:
            leaving.port = _output_form(node, wires, leaving)
        # Before opset 11 an ONNX Loop needs at least one state.
        wants_state = isinstance(node.op, onnx.Loop) and self.model.opsets.get("", 0) < 11
        changed |= _settle_states(wires, rewriter, inner, wants_state=wants_state)
        while _merge_inputs(wires, inner):
            # If two states were merged, values computed from them may have become equal, too.
            changed = True
        changed |= _merge_outputs(wires, rewriter)
        changed |= wires.drop_unread(node.op)
        wires.sort()
        made = wires.numbered(node.op)
        if not made.shown:
            # Every output returned an input of the loop, which its readers now read directly.
            rewriter.erase(node)
            return
        after = (made.externals, made.ports, made.parameters, made.results)
        if changed or before != after:
            wires.replace(node.op, rewriter)


def _input_form(node: Node, entry: Entering, w: NodeWriter) -> InputPort:
    port, shape = entry.port, shape_of(entry.outer)
    if isinstance(port, Sliced | ScanInput):
        port = replace(port, axis=normal_axis(port.axis, shape.rank))
    if not isinstance(port, Sliced) or port.axis < 0:
        return port
    full = (0, -1) if port.stride > 0 else (-1, 0)
    if isinstance(node.op, ov.TensorIterator) and (port.start, port.end) != full:
        size = None if shape.dims is None else shape.dims[port.axis]
        if not isinstance(size, int) or sliced_count(port, size) is None:
            return port
        entry.outer = w.range_of(entry.outer, port)
    return replace(port, start=full[0], end=full[1])


def _output_form(node: Node, wires: LoopWires, leaving: Leaving) -> OutputPort:
    port, rank = leaving.port, shape_of(leaving.value).rank
    if isinstance(port, ScanOutput):
        return replace(port, axis=normal_axis(port.axis, None if rank is None else rank + 1))
    if not isinstance(port, Concatenated):
        return port
    axis = 0 if rank == 0 else normal_axis(port.axis, rank)
    port = replace(port, axis=axis)
    counts = isinstance(node.op, ov.TensorIterator) and not wires.slices
    if counts or port.stride == 0:
        # The range of this output determines the trip count, so it stays as it is.
        return port
    start, end = (0, -1) if port.stride > 0 else (-1, 0)
    return replace(port, start=start, end=end)


def _settle_states(
    wires: LoopWires, rewriter: MatchRewriter, inner: Rewriter, *, wants_state: bool
) -> bool:
    """Turn states that never change into invariants; return True if any was changed.

    If the initial value and the next value of a state are equal constants, the body reads this
    constant instead of the state. With `wants_state`, the only state of a loop stays, unless the
    loop has no outputs other than the last value of this state. `inner` rewrites the body,
    `rewriter` the graph around the loop.
    """
    changed = False
    for state in list(wires.states):
        constant = _same_constant(state)
        if not (is_passed_on(state) or constant) or element_of(state.outer) is not element_of(
            state.parameter
        ):
            continue
        shown = wires.shown_by(state)
        if not all(_may_be_removed(leaving.output) for leaving in shown):
            continue
        if wants_state and len(wires.states) == 1 and len(wires.outputs) > len(shown):
            continue
        for leaving in shown:
            rewriter.replace_value(leaving.output, state.outer)
            wires.outputs.remove(leaving)
        if constant and state.result is not None:
            producer, first = state.result.producer, next(iter(wires.graph.nodes), None)
            if producer is not first:
                inner.move_before(producer, first)
            inner.replace_value(state.parameter, state.result, keep_names=False)
        state.port, state.result = INVARIANT, None
        changed = True
    return changed


def _same_constant(state: Entering) -> bool:
    """Return whether the initial value and the next value of a state are equal constants."""
    if state.result is None:
        return False
    first, then = state.outer.producer.op, state.result.producer.op
    if not isinstance(first, Constant) or not isinstance(then, Constant):
        return False
    left, right = first.tensor, then.tensor
    same = left.element is right.element and left.shape == right.shape
    return same and bytes(left.raw()) == bytes(right.raw())


def _may_be_removed(output: Value) -> bool:
    """Return whether a loop output may be replaced by another value and removed.

    An output that the enclosing graph returns must stay, because its name would be lost.
    """
    return not output.is_output


def _merge_inputs(wires: LoopWires, inner: Rewriter) -> bool:
    """Merge parameters that receive the same value in the same way; True if some were merged."""
    before = len(wires.inputs)
    seen: dict[tuple[Value, InputPort, Value | None], Entering] = {}
    for entering in list(wires.inputs):
        first = seen.setdefault((entering.outer, entering.port, entering.result), entering)
        if first is entering or first.parameter.type != entering.parameter.type:
            continue
        inner.replace_value(entering.parameter, first.parameter, keep_names=False)
        for leaving in wires.shown_by(entering):
            leaving.state = first
        wires.inputs.remove(entering)
    return len(wires.inputs) < before


def _merge_outputs(wires: LoopWires, rewriter: MatchRewriter) -> bool:
    """Merge outputs that return the same value in the same way; return True if any was merged."""
    seen: dict[tuple[Value, Entering | None, OutputPort], Leaving] = {}
    changed = False
    for leaving in list(wires.outputs):
        key = leaving.value, wires.state_of(leaving), leaving.port
        first = seen.setdefault(key, leaving)
        if first is leaving or not _may_be_removed(leaving.output):
            continue
        if isinstance(leaving.port, LastValue) and wires.running is not None:
            # Each state of an ONNX loop has an output of its own.
            continue
        rewriter.replace_value(leaving.output, first.output)
        wires.outputs.remove(leaving)
        changed = True
    return changed
