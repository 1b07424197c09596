"""Keeps OpenVINO from the memory of states that has moved, fault OVN163."""

from __future__ import annotations

from irloop.analysis.states import changes_surely, hiding_tile, only_grows, unstable_axes
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import STATE
from irloop.faults.repair import Repair
from irloop.graph.model import Node, Value
from irloop.graph.types import UNKNOWN_DIM, ElementType, Shape, TensorType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter

__all__ = ["GuardMovedStates"]

#: The type of the guard: integers whose number OpenVINO does not know.
GUARD = TensorType(ElementType.I64, Shape((UNKNOWN_DIM,)))


class GuardMovedStates(Repair, LoopPass):
    """Adds a state that never has its initial size after an iteration.

    Given::

        Loop(n, true, x [?], y [?]):       a: x, a' = -b    b: y, b' = -a

    Result::

        Loop(n, true, x, y, [0]):          a: x, a' = Tile(-b, 1 + (g[0] - g[0]))    b: y, b' = -a
                                           g: [0], g' = [0, 0]

    The plugin keeps the addresses of the memory of all states for the next run of the loop, if each
    state then has its initial size. If another state had another size in between, its memory has
    moved. The pass changes every Loop with a state that may return to its initial size. The guard
    stays only if the body reads it; a Tile that hides the size of this state anyway does so.
    """

    name = "guard_moved_states"
    after = ("growing_states",)
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        states = wires.states
        if any(changes_surely(state) for state in states):
            return
        pairs = zip(states, unstable_axes(wires.graph, states), strict=True)
        moved = [(state, axes) for state, axes in pairs if axes and not only_grows(state)]
        if not moved:
            return
        outside = OpenVinoNodeWriter(rewriter, node, node.name)
        inside = OpenVinoNodeWriter(self.session.rewriter(wires.graph), None, node.name)
        guard = wires.enter(outside.i64([0]), inside.names.fresh("guard"), STATE, GUARD)
        guard.result = inside.i64([0, 0])
        state, axes = moved[0]
        shown = wires.shown_by_each()[state]
        state.result = following = _read(inside, guard.parameter, state.following, axes)
        for leaving in shown:
            leaving.value = following
        wires.replace(node.op, rewriter)


def _read(w: OpenVinoNodeWriter, guard: Value, value: Value, axes: set[int]) -> Value:
    """Return `value`, whose sizes along `axes` are hidden by a number that is read from `guard`."""
    tile = hiding_tile(value)
    if tile is None:
        return w.with_hidden_sizes(value, axes, w.gather(guard, w.i64([0]), 0))
    nothing = tile[1]
    before = w.at(nothing)
    number = before.gather(guard, before.i64([0]), 0)
    w.rewriter.set_inputs(nothing, (number, number))
    return value
