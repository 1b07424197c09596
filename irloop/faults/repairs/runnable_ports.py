"""Rewrites port maps on which OpenVINO's transformations of Loops fail.

A port map connects the inputs and outputs of a Loop with the parameters and results of its body.
OpenVINO transforms Loops while it compiles a model, and some ports lead to crashes or wrong results
there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

from irloop.analysis.live_values import is_live
from irloop.dialects.openvino import control_flow as ov
from irloop.faults.repair import Repair
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Node
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.writers import writer_at

__all__ = ["RunnablePorts"]


class RunnablePorts(Repair, LoopPass):
    """Rewrites port maps on which OpenVINO's transformations of loops fail.

    Given::

        Loop(n, true, x, y):  p: n   q: x (not read)   a: y, a' = a + p   -> joined a, backwards

    Result::

        Loop(n, true, n, y):  p: n                     a: y, a' = a + p   -> joined a, backwards

    The pass avoids these faults: OVN117 (a Loop has ports that go backwards, and ports that
    nothing reads), OVN118 and OVN148 (the trip count or the first condition is mapped into the
    body), OVN136 (outputs share one body result, and nothing reads one of them) and OVN137
    (OpenVINO removes a body parameter that comes before the iteration number). For this, it removes
    ports that nothing reads, passes the trip count and the condition to the body through separate
    inputs, and makes the iteration number the first parameter. It keeps a port that some operation
    reads, even if OpenVINO will later remove that operation and then the port. For such ports it
    avoids the faults in another way: values that go backwards are reversed outside the Loop, and
    an output that shares its body result with another gets its own result.
    """

    name = "runnable_ports"
    after = ("trip_counts",)
    dialects = frozenset({"openvino"})
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        changed = isinstance(node.op, ov.Loop) and _change_ports_of_loop(node, wires)
        if isinstance(node.op, ov.Loop) and _loses_a_parameter(wires):
            changed |= self._go_forward(node, wires, rewriter)
        uses = Counter(item.value for item in wires.outputs)
        for leaving in wires.outputs:
            if leaving.output.is_used and uses[leaving.value] > 1 and not is_live(leaving.output):
                inside = writer_at(self.model, self.session.rewriter(wires.graph), None, node.name)
                leaving.value, changed = inside.own_copy(leaving.value), True
        unread = [item for item in wires.outputs if not item.output.is_used]
        unread = [item for item in unread if uses[item.value] > 1]
        if len(unread) < len(wires.outputs) and wires.remove(node.op, unread):
            changed = True
        if changed:
            wires.replace(node.op, rewriter)

    def _go_forward(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> bool:
        """Let a Loop slice and concatenate forwards, by reversing tensors outside it.

        An input that the Loop slices from its end to its start is reversed before the Loop. An
        output that is concatenated from its end to its start is reversed after the Loop. Returns
        whether anything was changed.
        """
        before = writer_at(self.model, rewriter, node, node.name)
        behind = writer_at(self.model, rewriter, node.following, node.name)
        changed = False
        for entering in wires.slices:
            if isinstance(entering.port, Sliced) and _is_reversed(entering.port):
                entering.outer = before.reverse(entering.outer, entering.port.axis)
                entering.port, changed = replace(entering.port, start=0, end=-1, stride=1), True
        for leaving in wires.outputs:
            port = leaving.port
            if isinstance(port, Concatenated) and _is_reversed(port):
                wires.change_output(leaving, rewriter, partial(behind.reverse, axis=port.axis))
                leaving.port, changed = replace(port, start=0, end=-1, stride=1), True
        return changed


def _loses_a_parameter(wires: LoopWires) -> bool:
    """Return whether OpenVINO would remove a body parameter.

    It removes a parameter if nothing reads it, or if it also removes all operations that read it,
    and a state that never changes.
    """
    return any(
        item.result is item.parameter or not is_live(item.parameter) for item in wires.inputs
    )


def _is_reversed(port: Sliced | Concatenated) -> bool:
    return (port.start, port.end, port.stride, port.part_size) == (-1, 0, -1, 1)


def _change_ports_of_loop(node: Node, wires: LoopWires) -> bool:
    """Change the port map of a loop to avoid faults OVN117, OVN118, OVN137 and OVN148.

    The changes are made in `wires`, the connections of the loop. Returns whether there are any.
    """
    ports = node.body().ports
    special = any(
        isinstance(port, Sliced | Concatenated)
        and (port.start, port.end, port.stride, port.part_size) != (0, -1, 1, 1)
        for port in (*ports.inputs, *ports.outputs)
    )
    externals = [port.external for port in ports.inputs]
    changed = bool(ports.iteration) or any(external < 2 for external in externals)
    # Of several parameters that one input is mapped to, OpenVINO drops all but one (IRL505).
    changed |= len({*externals}) < len(externals)
    if special or any(not item.parameter.is_used for item in wires.slices):
        changed |= wires.drop_unread(node.op)
    unread = [item for item in wires.outputs if not item.output.is_used]
    if special and len(unread) < len(wires.outputs):
        changed |= wires.remove(node.op, unread)
    return changed
