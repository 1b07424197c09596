"""Removes parameters, results, inputs and outputs of a loop or branch, or adds an invariant.

The port map is renumbered, because it refers to all of them by number. The node stays the same, in
contrast to `loop_wires`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from irloop.graph.loops import Carried, InputPort, Invariant, OutputPort, PortMap
from irloop.graph.model import Body, Node, Value
from irloop.graph.rewriter import Rewriter

__all__ = [
    "add_invariant",
    "drop_inputs",
    "drop_outputs",
    "drop_parameters",
    "drop_results",
    "drop_states",
    "replace_body",
]


def _moved(items: Iterable[object], dropped: Collection[object]) -> list[int | None]:
    """The new position of each item after `dropped` are removed; None for a removed item."""
    positions: list[int | None] = []
    kept = 0
    for item in items:
        positions.append(None if item in dropped else kept)
        kept += item not in dropped
    return positions


def drop_parameters(node: Node, body: Body, dropped: Collection[Value], rewriter: Rewriter) -> Body:
    """Remove unused parameters of a body, and their port map entries; return the new body."""
    moved = _moved(body.graph.inputs, dropped)
    inner = Rewriter(body.graph)
    for value in dropped:
        inner.erase_parameter(value.producer)
    inputs: list[InputPort] = []
    for port in body.ports.inputs:
        at = moved[port.parameter]
        if at is not None:
            inputs.append(replace(port, parameter=at))
    iteration = body.ports.iteration
    number = None if iteration is None else moved[iteration]
    ports = replace(body.ports, inputs=tuple(inputs), iteration=number)
    return replace_body(node, rewriter, body, ports)


def drop_states(node: Node, body: Body, dropped: Collection[Value], rewriter: Rewriter) -> Body:
    """Remove the back edges of states, given by their parameters; return the new body.

    The parameters and results stay, without a port.
    """
    kept = [port for port in body.ports.inputs if body.graph.input(port.parameter) not in dropped]
    return replace_body(node, rewriter, body, replace(body.ports, inputs=tuple(kept)))


def drop_results(node: Node, body: Body, dropped: Collection[Node], rewriter: Rewriter) -> Body:
    """Remove results from a body; return the new body.

    The ports, back edges and condition of `body` must not refer to a removed result.
    """
    moved = _moved(body.graph.results, dropped)
    inner = Rewriter(body.graph)
    for result in dropped:
        inner.erase_result(result)

    def at(index: int) -> int:
        position = moved[index]
        assert position is not None, "a wire still leads to this result"
        return position

    inputs = tuple(
        replace(port, result=at(port.result)) if isinstance(port, Carried) else port
        for port in body.ports.inputs
    )
    outputs = tuple(replace(port, result=at(port.result)) for port in body.ports.outputs)
    condition = None if body.ports.condition is None else at(body.ports.condition)
    ports = replace(body.ports, inputs=inputs, outputs=outputs, condition=condition)
    return replace_body(node, rewriter, body, ports)


def drop_inputs(node: Node, rewriter: Rewriter) -> bool:
    """Remove the inputs of a node that no port map of its bodies uses; True if there were any.

    Inputs that are not passed to bodies, such as a trip count, are kept.
    """
    mapped = {port.external for body in node.bodies for port in body.ports.inputs}
    inner = range(node.op.leading_inputs, len(node.inputs))
    dropped = {at for at in inner if at not in mapped}
    if not dropped:
        return False
    moved = _moved(range(len(node.inputs)), dropped)
    for body in node.bodies:
        inputs: list[InputPort] = []
        for port in body.ports.inputs:
            # The condition of an ONNX Loop is wired to input 1 even if it is omitted.
            at = moved[port.external] if port.external < len(moved) else port.external
            assert at is not None
            inputs.append(replace(port, external=at))
        replace_body(node, rewriter, body, replace(body.ports, inputs=tuple(inputs)))
    kept = tuple(value for at, value in enumerate(node.inputs) if at not in dropped)
    rewriter.set_inputs(node, kept)
    return True


def add_invariant(node: Node, outer: Value, name: str, rewriter: Rewriter) -> Value:
    """Add an input with the value `outer` to a loop; return the body parameter that receives it."""
    body = node.body()
    parameter = body.graph.add_parameter(name, outer.type, location=node.location)
    port = Invariant(len(node.inputs), len(body.graph.parameters) - 1)
    rewriter.set_inputs(node, (*node.inputs, outer))
    ports = replace(body.ports, inputs=(*body.ports.inputs, port))
    replace_body(node, rewriter, body, ports)
    return parameter


def drop_outputs(node: Node, dropped: Collection[Value], rewriter: Rewriter) -> None:
    """Remove unused outputs of the node from every body's port map and from the node."""
    moved = _moved(node.outputs, dropped)
    for body in node.bodies:
        outputs: list[OutputPort] = []
        for port in body.ports.outputs:
            at = moved[port.external]
            if at is not None:
                outputs.append(replace(port, external=at))
        replace_body(node, rewriter, body, replace(body.ports, outputs=tuple(outputs)))
    rewriter.drop_outputs(node, {value.index for value in dropped})


def replace_body(node: Node, rewriter: Rewriter, old: Body, ports: PortMap) -> Body:
    """Replace the port map of body `old` in `node` with `ports`; return the new body.

    The new body keeps the label and the graph of `old`.
    """
    new = Body(old.label, old.graph, ports)
    bodies = tuple(new if body is old else body for body in node.bodies)
    rewriter.set_bodies(node, bodies)
    return new
