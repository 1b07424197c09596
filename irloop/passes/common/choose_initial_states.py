"""Makes Loops that run zero iterations return the initial states.

Some runtimes return wrong values in this case.
"""

from __future__ import annotations

from irloop.analysis.ranges import certainly_runs
from irloop.dialects.openvino import comparison, shape
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import Entering, Leaving
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["ChooseInitialStates"]


class ChooseInitialStates(LoopPass):
    """Selects the initial value of a state, not the last one, if a Loop runs no iteration.

    Given::

        Loop(n, c, x, y):  state a: x, a' = a + 1       -> last a
                           state b: y, b' = 0 (b: not read)  -> last b

    Result::

        runs = n != 0 and c
        Loop(n, c, x):     state a: x, a' = a + 1       -> last a,  last b' = 0
        a = Select(runs, last a, x)     b = Select(runs, last b', y)

    The outputs of a Loop that certainly does not run become the initial values.

    With a trip count of zero OpenVINO 2021.4 returns zeros; besides, it cannot read a loop with a
    state that the body does not read. A loop that certainly runs is not changed, nor is a state
    whose shape changes or is not static.
    """

    name = "choose_initial_states"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        doubtful = _may_be_zero(wires, rewriter)
        each = wires.shown_by_each()
        shown = [(leaving, item) for item, outputs in each.items() for leaving in outputs]
        chosen = [pair for pair in shown if doubtful and _can_choose(*pair)]
        unsafe = [item for leaving, item in shown if doubtful and not _is_chosen(leaving, item)]
        unsafe = [item for item in unsafe if item not in [pair[1] for pair in chosen]]
        unread = [
            item for item in wires.states if not item.parameter.is_used and item not in unsafe
        ]
        if chosen and _never_runs(wires, rewriter):
            w = writer_at(self.model, rewriter, node.following, node.name)
            for leaving, state in chosen:
                initial = w.named_apart(state.outer, leaving.output)
                rewriter.replace_value(leaving.output, initial)
        elif chosen:
            c = writer_at(self.model, rewriter, node.following, node.name)
            runs = _runs_at_least_once(c, wires, doubtful)
            for leaving, state in chosen:
                _select_initial(c, runs, leaving.output, state.outer)
        if unread:
            wires.inputs = [item for item in wires.inputs if item not in unread]
            wires.replace(node.op, rewriter)
        rewriter.modified |= bool(chosen or unread)


def _may_be_zero(wires: LoopWires, rewriter: MatchRewriter) -> list[Value]:
    """Return those of trip count and initial condition that may keep the loop from running."""
    trip, starts, constant = wires.trip, wires.starts, rewriter.inference.constant
    doubtful = []
    if trip is not None and not certainly_runs(trip, None, constant):
        doubtful.append(trip)
    if starts is not None and not certainly_runs(None, starts, constant):
        doubtful.append(starts)
    return doubtful


def _never_runs(wires: LoopWires, rewriter: MatchRewriter) -> bool:
    """Return whether the trip count is the constant 0, or the initial condition is the constant
    false.
    """
    inputs = [value for value in (wires.trip, wires.starts) if value is not None]
    known = [rewriter.inference.constant(value) for value in inputs]
    return any(array is not None and not array.reshape(-1)[0] for array in known)


def _can_choose(leaving: Leaving, state: Entering) -> bool:
    """Return whether a Select between a state's initial value and a loop output can be added.

    `leaving` is the output that returns the last value of `state`. The initial value and the output
    must have the same static shape. The output must have readers, and such a Select must not exist
    yet.
    """
    dims = shape_of(leaving.output).static()
    same = dims is not None and dims == shape_of(state.outer).static()
    return same and leaving.output.is_used and not _is_chosen(leaving, state)


def _is_chosen(leaving: Leaving, item: Entering) -> bool:
    """Return whether a loop output needs no Select, because each of its readers is already one.

    `leaving` is the output, which returns the last value of the state `item`. Each reader must
    choose between the output and the initial value of the state (`item.outer`). Logical operations
    that do the same for booleans count as Selects.
    """
    return all(_chooses(user, item.outer) for user, _ in leaving.output.uses)


def _chooses(node: Node, initial: Value) -> bool:
    if isinstance(node.op, comparison.Select):
        return node.inputs[2] is initial
    if not isinstance(node.op, comparison.LogicalAnd):
        return False
    # Booleans are select as (runs and last) or (not runs and initial).
    either = [user for user, _ in node.output.uses if isinstance(user.op, comparison.LogicalOr)]
    others = [value.producer for user in either for value in user.inputs[1:] if value is not None]
    return any(
        isinstance(other.op, comparison.LogicalAnd) and initial in other.inputs for other in others
    )


def _runs_at_least_once(c: NodeWriter, wires: LoopWires, doubtful: list[Value]) -> Value:
    """Emit a boolean scalar that is true if the loop runs at least once.

    `doubtful` holds the inputs that decide this: the trip count, the initial condition, or both.
    """
    marks = []
    for value in doubtful:
        mark = value
        if value is wires.trip:
            zero = c.constant(0, element_of(value))
            mark = c(comparison.NotEqual(), value, zero)
        if shape_of(value).rank:
            mark = c(shape.Reshape(), mark, c.constant([1]))
            mark = c(shape.Squeeze(), mark, c.constant([0]))
        marks.append(mark)
    return marks[0] if len(marks) == 1 else c(comparison.LogicalAnd(), *marks)


def _select_initial(c: NodeWriter, runs: Value, last: Value, initial: Value) -> None:
    """Make the readers of `last` read `initial` instead if the loop does not run.

    They then read a Select between the two. `runs` is true if the loop runs at least once.
    """
    readers = last.uses
    picked = c.select(runs, last, initial)
    for user, position in readers:
        c.rewriter.set_input(user, position, picked)
    picked.names, last.names = last.names, ()
