"""Gives states that are passed on unchanged a copy of their own."""

from __future__ import annotations

from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import convert
from irloop.graph.model import Node, Value
from irloop.passes.loop_pass import LoopPass
from irloop.passes.rewriter import MatchRewriter
from irloop.passes.wires import LoopWires

__all__ = ["SeparateStates"]


class SeparateStates(LoopPass):
    """Puts an Identity between a body parameter and the state that continues with it.

    Given::

        Loop:  state a: a' = a + x     state b: b' = a

    Result::

        Loop:  state a: a' = a + x     state b: b' = Identity(a)

    OpenVINO's CPU carries out back edges one after another in the memory of the parameters, so
    that b would see the new a. A state that continues with itself stays.
    """

    name = "separate_states"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        inner = self.session.rewriter(wires.graph)
        body = node.body()
        copies: dict[Value, Value] = {}
        for item in wires.states:
            value = item.result
            if value is None or value is item.parameter or value not in wires.graph.inputs:
                continue
            if value not in copies:
                name = f"{item.parameter.producer.name}/copy"
                copies[value] = inner.insert(
                    convert.Identity(), (value,), before=None, name=name
                ).output
            for port in body.ports.carried:
                result = body.graph.results[port.result]
                if result.inputs[0] is value:
                    inner.set_input(result, 0, copies[value])
        rewriter.modified |= inner.modified
