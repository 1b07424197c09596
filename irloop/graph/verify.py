"""Checks that a graph is consistent. This is used after passes, in tests, and before writing."""

from __future__ import annotations

from irloop.errors import VerifyError
from irloop.graph.loops import Carried, PortMap
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Parameter, Result
from irloop.graph.walk import node_path

__all__ = ["verify"]


def verify(graph: Graph) -> None:
    """Check that a graph and its bodies are well-formed.

    Nodes must be in order, so that a node reads only earlier values of its own graph. The lists of
    uses must be correct, and port maps must name existing inputs, outputs, parameters and results.

    Raises:
        VerifyError: when a rule is broken; the message names the node.
    """
    seen: set[Value] = set()
    for node in graph.parameters:
        _require(isinstance(node.op, Parameter), node, "a parameter that is not a Parameter")
        _require(node.graph is graph, node, "a parameter that belongs to another graph")
        _verify_outputs(node, seen)
    count = 0
    for node in graph.nodes:
        count += 1
        _verify_node(node, graph, seen)
        for body in node.bodies:
            _require(body.graph.owner is node, node, f"body {body.label!r} has another owner")
            verify(body.graph)
            _verify_ports(node, body)
    if count != len(graph):
        raise VerifyError(f"{graph!r} has a count of {len(graph)} nodes, but links {count}")
    for node in graph.results:
        _require(isinstance(node.op, Result), node, "a result that is not a Result")
        _verify_node(node, graph, seen)


def _verify_node(node: Node, graph: Graph, seen: set[Value]) -> None:
    if node.graph is not graph:
        raise _broken(node, "a node that belongs to another graph")
    for position, value in enumerate(node.inputs):
        if value is None:
            continue
        if value not in seen:
            raise _broken(node, f"input {position} is not made before it in this graph")
        if (node, position) not in value._uses:
            raise _broken(node, f"input {position} is not listed as a use of its value")
    _verify_outputs(node, seen)


def _verify_outputs(node: Node, seen: set[Value]) -> None:
    """Check the outputs of a node and their lists of uses, and add the outputs to `seen`."""
    for index, value in enumerate(node.outputs):
        seen.add(value)
        if value.producer is not node:
            raise _broken(node, f"output {index} has another producer")
        if value.index != index:
            raise _broken(node, f"output {index} has the index {value.index}")
        for user, position in value._uses:
            if position >= len(user.inputs) or user.inputs[position] is not value:
                raise _broken(node, f"output {index} lists a use that does not read it")


def _verify_ports(node: Node, body: Body) -> None:
    ports: PortMap = body.ports
    parameters, results = len(body.graph.parameters), len(body.graph.results)
    used: set[int] = set()
    for port in ports.inputs:
        _require(0 <= port.external < len(node.inputs), node, f"{port} names no input")
        _require(0 <= port.parameter < parameters, node, f"{port} names no body parameter")
        _require(port.parameter not in used, node, f"{port} maps a parameter twice")
        used.add(port.parameter)
        if isinstance(port, Carried):
            _require(0 <= port.result < results, node, f"{port} names no body result")
    outputs: set[int] = set()
    for out in ports.outputs:
        _require(0 <= out.external < len(node.outputs), node, f"{out} names no output")
        _require(0 <= out.result < results, node, f"{out} names no body result")
        _require(out.external not in outputs, node, f"{out} gives an output twice")
        outputs.add(out.external)
    if ports.iteration is not None:
        _require(0 <= ports.iteration < parameters, node, "the iteration number has no parameter")
        _require(ports.iteration not in used, node, "the iteration number is also an input")
    if ports.condition is not None:
        _require(0 <= ports.condition < results, node, "the condition has no result")


def _require(holds: bool, node: Node, message: str) -> None:
    if not holds:
        raise _broken(node, message)


def _broken(node: Node, message: str) -> VerifyError:
    return VerifyError(f"{node_path(node)}: {message}", location=node.location)
