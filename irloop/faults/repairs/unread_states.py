"""Lets the bodies of Loops read their states, so that OpenVINO keeps the initial values.

OpenVINO loses the initial value of a state that the body does not read, if the Loop runs zero times
(fault OVN104).
"""

from __future__ import annotations

from irloop.analysis.live_values import is_live
from irloop.analysis.ranges import may_not_run
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import LogicalAnd, LogicalNot, LogicalOr
from irloop.dialects.openvino.reduction import ReduceLogicalOr, ReduceMax
from irloop.dialects.wire_ends import INVARIANT
from irloop.faults.repair import Repair
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType, Shape, TensorType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["TRUTH", "ReadStates", "one_of"]

#: The type of the value that is true whenever a body runs.
TRUTH = TensorType(ElementType.BOOLEAN, Shape(()))


class ReadStates(Repair, LoopPass):
    """Computes the next value of a state in a way that reads the state.

    Given::

        y = Loop(n, go, h, x):        s: h, s' = -x                          -> last s

    Result::

        y = Loop(n, go, h, x, true):  s: h, s' = Select(running, -x, s)      -> last s

    Fault OVN104 is the reason: if the Loop runs zero times, OpenVINO returns the initial value of
    a state only if the body reads the state. The condition is true whenever the body runs, but the
    plugin cannot know that.
    """

    name = "read_states"
    after = ("growing_states", "moved_states")
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if not may_not_run(node):
            return
        unread = [
            (item, shown)
            for item, shown in wires.shown_by_each().items()
            if not is_live(item.parameter, sizes_count=False)
            and any(is_live(leaving.output) for leaving in shown)
        ]
        inside = writer_at(self.model, self.session.rewriter(wires.graph), None, node.name)
        running: Value | None = None
        for entry, shown in unread:
            value, state = entry.result, entry.parameter
            assert value is not None
            if element_of(value) is ElementType.BOOLEAN:
                some = one_of(inside, state)
                never = inside(LogicalAnd(), some, inside(LogicalNot(), some))
                value = inside(LogicalOr(), value, never)
            else:
                if running is None:
                    outside = writer_at(self.model, rewriter, node, node.name)
                    one = outside.constant(True, ElementType.BOOLEAN)
                    name = inside.names.fresh("running")
                    running = wires.enter(one, name, INVARIANT, TRUTH).parameter
                value = _chosen(inside, running, value, state)
            entry.result = value
            for leaving in shown:
                leaving.value = value
        if unread:
            wires.replace(node.op, rewriter)


def _chosen(w: NodeWriter, running: Value, value: Value, state: Value) -> Value:
    element = element_of(value)
    if element in EIGHT_BIT_FLOATS:
        value, state = (w.convert(x, ElementType.F32) for x in (value, state))
    if shape_of(value).static() is None or shape_of(value) != shape_of(state):
        state = one_of(w, state)
    return w.convert(w.select(running, value, state), element)


def one_of(w: NodeWriter, value: Value) -> Value:
    """Reduce a value to a scalar, for a body that has to read the value in some way.

    The scalar is the maximum, or whether any element is true if the value is boolean.
    """
    rank = shape_of(value).rank
    if rank is None:
        value, rank = w.reshape(value, [-1]), 1
    if rank == 0:
        return value
    boolean = element_of(value) is ElementType.BOOLEAN
    op = ReduceLogicalOr(keep_dims=False) if boolean else ReduceMax(keep_dims=False)
    return w(op, value, w.constant(list(range(rank))))
