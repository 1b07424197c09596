"""Removes everything that no output depends on, including bodies of loops and branches."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Carried, Concatenated, InputPort, LastValue, OutputPort
from irloop.graph.model import Body, Graph, Model, Node
from irloop.graph.rewriter import Rewriter
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import is_unread
from irloop.passes.trips import kept_for_count
from irloop.passes.wire_removal import (
    drop_inputs,
    drop_outputs,
    drop_parameters,
    drop_results,
    replace_body,
)

__all__ = ["DeadCode"]


class DeadCode(ModelPass):
    """Removes unread nodes, loop outputs, states, body parameters and body results.

    Given::

        Loop(M, cond, x, y):  state a: x, a' = a + 1      -> out (read)
                              state b: y, b' = b * 2      -> (not read)
        Relu(x)                                            (not read)

    Result::

        Loop(M, cond, x):     state a: x, a' = a + 1      -> out

    The pass keeps all inputs of the model, the last slice or concatenated output that determines
    the trip count of a TensorIterator or a Scan, operations that write a variable, and, before
    opset 11, one state of an ONNX Loop.
    """

    name = "dead_code"

    def run_on_model(self, model: Model) -> bool:
        # ONNX distinguishes states and scan outputs by position, so a state keeps its output.
        self._positional = model.dialect == "onnx"
        opset = model.opsets.get("", onnx.STATELESS)
        self._keeps_a_state = self._positional and opset < onnx.STATELESS
        modified = False
        while self._sweep(model.graph):
            modified = True
        return modified

    def _sweep(self, graph: Graph) -> bool:
        rewriter = Rewriter(graph)
        for node in reversed(graph):
            if is_unread(node):
                if not self.transformation_callback(node):
                    rewriter.erase(node)
                continue
            for body in node.bodies:
                rewriter.modified |= self._sweep(body.graph)
            if node.bodies:
                self._prune(node, rewriter)
        return rewriter.modified

    def _prune(self, node: Node, rewriter: Rewriter) -> None:
        if self.transformation_callback(node):
            return
        if isinstance(node.op, ov.If | onnx.If):
            unread = {at for at, value in enumerate(node.outputs) if not value.is_used}
        else:
            dead = self._dead_states(node, node.bodies[0])
            unread = _unread_outputs(node, node.bodies[0], dead, self._positional)
        if unread and len(unread) < len(node.outputs):
            drop_outputs(node, unread, rewriter)
        for label in [body.label for body in node.bodies]:
            body = node.body(label)
            _drop_states(node, body, self._dead_states(node, body), rewriter)
            _drop_unused_results(node, node.body(label), rewriter)
            _drop_unused_parameters(node, node.body(label), rewriter, self._positional)
        drop_inputs(node, rewriter)

    def _dead_states(self, node: Node, body: Body) -> list[Carried]:
        """Return the states that nothing needs, so that they can be removed.

        If an ONNX Loop must keep a state (before opset 11) and all are dead, the first state is
        kept.
        """
        dead = _dead_states(node, body)
        states = [port for port in body.ports.carried if port.result != body.ports.condition]
        if self._keeps_a_state and isinstance(node.op, onnx.Loop) and len(dead) == len(states):
            return dead[1:]
        return dead


def _dead_states(node: Node, body: Body) -> list[Carried]:
    """Return the states that can be removed because nothing needs them.

    No node of the body reads such a state; only its own Result may return it unchanged. Its last
    value is not read either, and its next value is neither the condition nor a concatenated output.
    """
    dead = []
    shown = {port.result: port.external for port in body.ports.outputs}
    lasts = {port.result for port in body.ports.outputs if isinstance(port, LastValue)}
    for port in body.ports.carried:
        if port.result == body.ports.condition:
            continue
        value = body.graph.input(port.parameter)
        result = body.graph.results[port.result]
        alone = all(user is result for user, _ in value.uses)
        read = port.result in shown and node.outputs[shown[port.result]].is_used
        joined = port.result in shown and port.result not in lasts
        if alone and not read and not joined:
            dead.append(port)
    return dead


def _unread_outputs(
    node: Node, body: Body, dead_states: list[Carried], positional: bool
) -> set[int]:
    unread = {at for at, value in enumerate(node.outputs) if not value.is_used}
    if not positional:
        ports = [*body.ports.inputs, *body.ports.outputs]
        removed = {at for at, port in enumerate(ports) if _is_output_of(port, unread)}
        kept = kept_for_count(node.op, ports, removed)
        return unread if kept is None else unread - {ports[kept].external}
    dead = {port.result for port in dead_states}
    carried = {port.result for port in body.ports.carried}
    held = {
        port.external
        for port in body.ports.outputs
        if isinstance(port, LastValue) and port.result in carried and port.result not in dead
    }
    return unread - held


def _is_output_of(port: InputPort | OutputPort, positions: set[int]) -> bool:
    return isinstance(port, LastValue | Concatenated) and port.external in positions


def _drop_states(node: Node, body: Body, dead: list[Carried], rewriter: Rewriter) -> None:
    shown = {port.result for port in body.ports.outputs}
    dead = [port for port in dead if port.result not in shown]
    if not dead:
        return
    kept = [port for port in body.ports.inputs if port not in dead]
    replace_body(node, rewriter, body, replace(body.ports, inputs=tuple(kept)))


def _drop_unused_results(node: Node, body: Body, rewriter: Rewriter) -> None:
    named = {port.result for port in body.ports.outputs}
    named |= {port.result for port in body.ports.carried}
    if body.ports.condition is not None:
        named.add(body.ports.condition)
    unused = set(range(len(body.graph.results))) - named
    if unused:
        drop_results(node, body, unused, rewriter)


def _drop_unused_parameters(node: Node, body: Body, rewriter: Rewriter, positional: bool) -> None:
    unused = set()
    for index, value in enumerate(body.graph.inputs):
        port = body.ports.by_parameter.get(index)
        if value.is_used or isinstance(port, Carried):
            continue
        if not positional or index != body.ports.iteration:
            unused.add(index)
    ports = body.ports.inputs
    removed = {at for at, port in enumerate(ports) if port.parameter in unused}
    kept = kept_for_count(node.op, [*ports, *body.ports.outputs], removed)
    if kept is not None:
        unused.remove(ports[kept].parameter)
    if unused:
        drop_parameters(node, body, unused, rewriter)
