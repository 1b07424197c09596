"""Lets loops keep their states from one inference to the next."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.state import Assign6, ReadValue6
from irloop.dialects.wire_ends import LAST, Entering, Leaving
from irloop.graph.model import Node, Value
from irloop.graph.types import TensorType
from irloop.passes.common.fold_trips import FoldTrips
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires, is_passed_on
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.options import option

__all__ = ["LowLatency"]


@dataclass(eq=False)
class LowLatency(LoopPass):
    """Stores each state of a loop in a variable, so that a sequence can be processed in pieces.

    Given::

        TensorIterator(x [1,B,I], h):   s: h, s' = s + p     -> joined s

    Result::

        v = ReadValue(h, "loop/s")    v' = v + x    Assign(v', "loop/s")

    The first inference starts from the loop's initial values, every later one from the last states
    (like OpenVINO's LowLatency2). A loop with one iteration is replaced by its body. Loops inside
    bodies are not changed, nor are states that never change.
    """

    keep_loops: bool = option(False, "leave loops with one iteration unchanged")

    name = "low_latency"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if rewriter.graph is not self.model.graph:
            return
        states = [item for item in wires.states if _has_to_persist(item, wires)]
        if not states:
            return
        assigned: list[tuple[Leaving, ReadValue6]] = []
        for state in states:
            name = rewriter.names.fresh(f"{node.name}/{state.parameter.producer.name}/variable")
            # The type that the body has for a state holds in all iterations, even if its shape
            # grows.
            assert isinstance(state.parameter.type, TensorType)
            read = ReadValue6(name, state.parameter.type.element, state.parameter.type.shape)
            state.outer = rewriter.insert(
                read, (state.outer,), before=node, name=f"{name}/read"
            ).output
            assigned.append((_output_of_last_value(state, wires), read))
        behind = node.following
        new = wires.replace(node.op, rewriter)
        outputs = dict(zip((item.output for item in wires.outputs), new.outputs, strict=True))
        for leaving, read in assigned:
            rewriter.insert(
                Assign6(read.variable_id, read.variable_type, read.variable_shape),
                (outputs[leaving.output],),
                before=behind,
                name=f"{read.variable_id}/assign",
            )
        if not self.keep_loops:
            FoldTrips().unroll_node(self.model, new, rewriter)


def _has_to_persist(state: Entering, wires: LoopWires) -> bool:
    """Return whether `state` is a state whose value has to be kept in a variable for the next
    inference.

    This is not so for a state that the body returns unchanged, for the condition of the loop, and
    for a state that a variable already provides or whose type is unknown.
    """
    condition = state.outer is wires.starts and state.result is wires.goes_on
    known = isinstance(state.outer.type, TensorType)
    read = isinstance(state.outer.producer.op, ReadValue6)
    return known and not (condition or read or is_passed_on(state))


def _output_of_last_value(state: Entering, wires: LoopWires) -> Leaving:
    """Return the output with the last value of a state; add one if the loop has none."""
    shown = wires.shown_by(state)
    if shown:
        return shown[0]
    assert state.result is not None
    output = Value(wires.node, len(wires.outputs))
    return wires.leave(state.result, LAST, state, output=output)
