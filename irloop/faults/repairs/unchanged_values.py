"""Copies an unchanged body value if several outputs of a loop return it."""

from __future__ import annotations

from irloop.dialects.openvino import control_flow as ov
from irloop.faults.repair import Repair
from irloop.graph.loops import LastValue
from irloop.graph.model import Node
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires, is_passed_on
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.writers import writer_at

__all__ = ["CopyUnchanged"]


class CopyUnchanged(Repair, LoopPass):
    """Copies a body value that does not change in the loop, if several outputs return it.

    Given::

        y, z = Loop(n, true, x):  s: x, s' = s                 -> last s, joined s

    Result::

        y, z = Loop(n, true, x):  s: x, s' = Maximum(s, s)     -> last s', joined s'

    The value is a state or a captured value, and one of the outputs is its last value. OpenVINO
    removes that output from the loop, and crashes (fault OVN130).
    """

    name = "copy_unchanged"
    after = ("unread_states",)
    dialects = frozenset({"openvino"})
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        kept = [item.result for item in wires.states if is_passed_on(item)]
        modified = False
        for value in dict.fromkeys([*kept, *(item.parameter for item in wires.invariants)]):
            shown = [item for item in wires.outputs if item.value is value]
            if value is None or len(shown) < 2:
                continue
            if not any(isinstance(item.port, LastValue) for item in shown):
                continue
            inner = self.session.rewriter(wires.graph)
            copy = writer_at(self.model, inner, None, node.name).own_copy(value)
            modified = True
            for state in wires.states:
                if state.result is value:
                    state.result = copy
            for item in shown:
                item.value = copy
        if modified:
            wires.replace(node.op, rewriter)
