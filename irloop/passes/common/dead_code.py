"""Removes everything that no output depends on, including bodies of loops and branches."""

from __future__ import annotations

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import (
    Inward,
    condition_result,
    inward,
    iteration_number,
    outward,
)
from irloop.graph.loops import LastValue
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.rewriter import Rewriter
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import is_unread
from irloop.passes.trips import kept_for_count
from irloop.passes.wire_removal import (
    drop_inputs,
    drop_outputs,
    drop_parameters,
    drop_results,
    drop_states,
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
            unread = {value for value in node.outputs if not value.is_used}
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

    def _dead_states(self, node: Node, body: Body) -> list[Inward]:
        """Return the states that nothing needs, so that they can be removed.

        If an ONNX Loop must keep a state (before opset 11) and all are dead, the first state is
        kept.
        """
        states, dead = _states(node, body), _dead_states(node, body)
        if self._keeps_a_state and isinstance(node.op, onnx.Loop) and len(dead) == len(states):
            return dead[1:]
        return dead


def _states(node: Node, body: Body) -> list[Inward]:
    """Return the states of a loop, without the condition of an ONNX Loop."""
    condition = condition_result(body)
    return [item for item in inward(node, body) if item.result not in (None, condition)]


def _dead_states(node: Node, body: Body) -> list[Inward]:
    """Return the states that can be removed because nothing needs them.

    No node of the body reads such a state; only its own Result may return it unchanged. Its last
    value is not read either, and its next value is neither the condition nor a concatenated output.
    """
    shown = {item.result: item for item in outward(node, body)}
    lasts = {item.result for item in shown.values() if isinstance(item.port, LastValue)}
    dead = []
    for state in _states(node, body):
        last = None if state.result is None else shown.get(state.result)
        alone = all(user is state.result for user, _ in state.parameter.uses)
        read = last is not None and last.output.is_used
        joined = last is not None and last.result not in lasts
        if alone and not read and not joined:
            dead.append(state)
    return dead


def _unread_outputs(
    node: Node, body: Body, dead_states: list[Inward], positional: bool
) -> set[Value]:
    unread = {value for value in node.outputs if not value.is_used}
    leaving = outward(node, body)
    if not positional:
        ports = [*body.ports.inputs, *body.ports.outputs]
        first = len(body.ports.inputs)
        removed = {first + at for at, item in enumerate(leaving) if item.output in unread}
        kept = kept_for_count(node.op, ports, removed)
        return unread if kept is None else unread - {leaving[kept - first].output}
    dead = {item.result for item in dead_states}
    held = {item.result for item in inward(node, body)} - dead
    return unread - {
        item.output for item in leaving if isinstance(item.port, LastValue) and item.result in held
    }


def _drop_states(node: Node, body: Body, dead: list[Inward], rewriter: Rewriter) -> None:
    shown = {item.result for item in outward(node, body)}
    parameters = {item.parameter for item in dead if item.result not in shown}
    if parameters:
        drop_states(node, body, parameters, rewriter)


def _drop_unused_results(node: Node, body: Body, rewriter: Rewriter) -> None:
    wired = {item.result for item in inward(node, body)} | {condition_result(body)}
    unused = {*body.graph.results} - wired - {item.result for item in outward(node, body)}
    if unused:
        drop_results(node, body, unused, rewriter)


def _drop_unused_parameters(node: Node, body: Body, rewriter: Rewriter, positional: bool) -> None:
    entering = inward(node, body)
    states = {item.parameter for item in entering if item.result is not None}
    unused = {value for value in body.graph.inputs if not value.is_used} - states
    if positional:
        unused.discard(iteration_number(body))
    removed = {at for at, item in enumerate(entering) if item.parameter in unused}
    kept = kept_for_count(node.op, [*body.ports.inputs, *body.ports.outputs], removed)
    if kept is not None:
        unused.remove(entering[kept].parameter)
    if unused:
        drop_parameters(node, body, unused, rewriter)
