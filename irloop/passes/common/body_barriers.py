"""Inserts copies in loops in which OpenVINO's CPU plugin would let states share memory."""

from __future__ import annotations

from irloop.analysis.shared_memory import is_overwritten, needs_barrier, shares_memory_with
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.gather import GATHERS
from irloop.graph.builder import shape_of
from irloop.graph.loops import Concatenated
from irloop.graph.model import Node, Value
from irloop.graph.op import Result
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["BodyBarriers"]


class BodyBarriers(LoopPass):
    """Copies values that a loop carries, joins or captures, if their memory may be overwritten.

    Given::

        Loop(x):  a' = b    b' = a    joined a, axis 0    y = SoftMax(x)

    Result::

        Loop(x):  a' = Maximum(b, b)    b' = Maximum(a, a)    joined Maximum(a, a), axis 0
                  y = SoftMax(Maximum(x, x))

    After an iteration, OpenVINO's CPU plugin copies the next slices and then the back edges, one
    after the other, into the memory of the parameters. A body result that shares this memory may be
    overwritten before it is read, so this pass inserts a copy. Only a state that never changes
    needs no copy.

    An invariant, or a state that never changes, is written into the body's memory only once, before
    the first iteration. Three kinds of operations overwrite this memory: those in
    `shared_memory.IN_PLACE`; elementwise operations on a view of the value; and elementwise
    operations on a Concat if the plugin puts the value into the Concat's memory without a copy. The
    next iteration would read what these operations wrote, so this pass lets the body read a copy of
    the value instead, or of its slice that one index gathers.

    The copy is the maximum of a value with itself (for booleans, LogicalOr), an operation that the
    plugin neither removes nor computes in place. As measured with OpenVINO 2026.4, the results of
    Concat, Tile, Broadcast, Transpose and x + 0 share the memory of the value instead.
    """

    name = "body_barriers"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        parameters = {item.parameter for item in wires.inputs}
        changing = {item.parameter for item in [*wires.states, *wires.slices]}
        if wires.iteration is not None:
            parameters.add(wires.iteration)
            changing.add(wires.iteration)
        inner = self.session.rewriter(wires.graph)
        w = writer_at(self.model, inner, None, node.name)
        copies: dict[Value, Value] = {}

        def copied(value: Value) -> Value:
            if value not in copies:
                copies[value] = w.own_copy(value)
            return copies[value]

        for state in wires.states:
            value = state.result
            if value is None or not needs_barrier(value, state.parameter, parameters, changing):
                continue
            shown = wires.shown_by(state)
            state.result = copied(value)
            for leaving in shown:
                leaving.value = state.result
        for leaving in wires.outputs:
            joined = isinstance(leaving.port, Concatenated)
            if joined and shares_memory_with(leaving.value, parameters):
                leaving.value = copied(leaving.value)
        unchanged = [item for item in wires.states if item.result is item.parameter]
        for captured in [*wires.invariants, *unchanged]:
            if not is_overwritten(captured.parameter):
                continue
            rewriter.modified = True
            _copy_slices(captured.parameter, w)
            if is_overwritten(captured.parameter):
                _read_a_copy(captured.parameter, w)
        if copies:
            wires.replace(node.op, rewriter)


def _copy_slices(parameter: Value, last: NodeWriter) -> None:
    """Let the operations of a body read copies of what single indices gather from `parameter`.

    This is less to copy than the whole, from which it may be a view if it is all there is.
    """
    for user, position in parameter.uses:
        index = user.inputs[1] if position == 0 and isinstance(user.op, GATHERS) else None
        if index is None or shape_of(index).rank != 0:
            continue
        uses = [use for use in user.output.uses if not isinstance(use[0].op, Result)]
        copy = last.at(user.following).own_copy(user.output)
        for reader, place in uses:
            last.rewriter.set_input(reader, place, copy)


def _read_a_copy(parameter: Value, last: NodeWriter) -> None:
    """Let the operations of a body read a copy of `parameter`.

    Results of the body still return the parameter itself.
    """
    uses = [use for use in parameter.uses if not isinstance(use[0].op, Result)]
    rewriter = last.rewriter
    copy = last.at(next(iter(rewriter.graph.nodes), None)).own_copy(parameter)
    for user, position in uses:
        rewriter.set_input(user, position, copy)
