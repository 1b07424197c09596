"""Rewrites port maps on which OpenVINO's own transformations of Loops fail."""

from __future__ import annotations

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Node
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["RunnablePorts"]


class RunnablePorts(LoopPass):
    """Rewrites port maps of a Loop on which OpenVINO's own transformations fail.

    Given::

        Loop(n, true, x, y):  p: n   q: x (not read)   a: y, a' = a + p   -> joined a, backwards

    Result::

        Loop(n, true, n, y):  p: n                     a: y, a' = a + p   -> joined a, backwards

    Hazards OVN117 (ports that go backwards beside unread ones) and OVN118 (the trip count mapped
    into the body) are the reason.
    """

    name = "runnable_ports"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        ports = node.body().ports
        special = any(
            isinstance(port, Sliced | Concatenated)
            and (port.start, port.end, port.stride, port.part_size) != (0, -1, 1, 1)
            for port in (*ports.inputs, *ports.outputs)
        )
        changed = any(port.external == 0 for port in ports.inputs)
        if special or any(not item.parameter.is_used for item in wires.slices):
            changed |= wires.drop_unread(node.op)
        read = [item for item in wires.outputs if item.output.is_used]
        if special and read and len(read) < len(wires.outputs):
            wires.outputs, changed = read, True
        if changed:
            wires.replace(node.op, rewriter)
