"""Traversals of a graph and its bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from irloop.graph.loops import InputPort, Invariant
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Op, Parameter
from irloop.graph.types import TensorType

__all__ = [
    "all_graphs",
    "all_inputs",
    "all_nodes",
    "body_around",
    "count_nodes",
    "downstream",
    "entry_of",
    "has_op",
    "invariant_of",
    "is_constant",
    "kinds_of",
    "node_path",
    "owners",
    "reached",
    "topological",
    "upstream",
]

Item = TypeVar("Item")


def all_nodes(graph: Graph) -> Iterator[Node]:
    """Yield every node of a graph and its bodies; a node is followed by the nodes of its bodies.

    Parameters and results are left out.
    """
    stack = [iter(graph.nodes)]
    while stack:
        for node in stack[-1]:
            yield node
            if node.bodies:
                stack.extend(iter(body.graph.nodes) for body in reversed(node.bodies))
                break
        else:
            stack.pop()


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """Yield the graph and all bodies in it, outermost first."""
    yield graph
    if not graph.has_bodies:
        return
    for node in all_nodes(graph):
        for body in node.bodies:
            yield body.graph


def kinds_of(graph: Graph) -> set[type[Op]]:
    """The operation classes of all nodes in a graph and in its bodies.

    Parameters and Results are left out. Every graph keeps a count of each operation class, so this
    visits the graphs but not their nodes.
    """
    return {kind for each in all_graphs(graph) for kind in each.kinds}


def has_op(graph: Graph, *classes: type[Op]) -> bool:
    """Return whether a node of the graph or of its bodies is an operation of these classes."""
    return any(issubclass(kind, classes) for kind in kinds_of(graph))


def count_nodes(graph: Graph) -> int:
    """The number of nodes of a graph and its bodies, without parameters and results."""
    return sum(map(len, all_graphs(graph)))


def node_path(node: Node) -> str:
    """The path to a node through bodies, as in ``Loop_7/body/Mul_4``."""
    parts = [node.name]
    for owner in owners(node):
        label = next((body.label for body in owner.bodies if body.graph is node.graph), "body")
        parts += [label, owner.name]
        node = owner
    return "/".join(reversed(parts))


def owners(node: Node) -> Iterator[Node]:
    """Yield the loops and Ifs around a node, inside out."""
    owner = node.owner
    while owner is not None:
        yield owner
        owner = owner.owner


def body_around(node: Node) -> tuple[Node, Body] | None:
    """The loop or If around a node, and the body that contains it; None in the model itself."""
    owner = node.owner
    if owner is None:
        return None
    return owner, next(body for body in owner.bodies if body.graph is node.graph)


def entry_of(value: Value) -> tuple[Node, Body, InputPort] | None:
    """The loop or If around a body parameter, its body, and the port that feeds the parameter.

    None for any other value, and for a parameter that no outer value feeds.
    """
    around = body_around(value.producer)
    if around is None or not isinstance(value.producer.op, Parameter):
        return None
    owner, body = around
    port = body.ports.by_parameter.get(body.graph.parameters.index(value.producer))
    return None if port is None else (owner, body, port)


def invariant_of(value: Value) -> Value | None:
    """The outer value that a body parameter holds in every iteration; None for any other value."""
    entry = entry_of(value)
    if entry is None or not isinstance(entry[2], Invariant):
        return None
    return entry[0].inputs[entry[2].external]


def reached(
    starts: Iterable[Item], onward: Callable[[Item], Iterable[Item | None]]
) -> Iterator[Item]:
    """Yield `starts` and all that `onward` leads to from them, each once, the nearest first."""
    pending = list(dict.fromkeys(starts))
    seen = set(pending)
    for item in pending:
        yield item
        for further in onward(item):
            if further is not None and further not in seen:
                seen.add(further)
                pending.append(further)


def all_inputs(node: Node) -> Iterable[Value | None]:
    """The inputs of a node, None where one is omitted."""
    return node.inputs


def upstream(
    nodes: Iterable[Node], followed: Callable[[Node], Iterable[Value | None]] = all_inputs
) -> Iterator[Node]:
    """Yield `nodes` and the nodes from which they are computed, in the same graph.

    `followed` selects the inputs of a node to follow.
    """
    return reached(
        nodes, lambda node: (value.producer for value in followed(node) if value is not None)
    )


def downstream(values: Iterable[Value]) -> Iterator[Node]:
    """Yield the nodes of the graph that depend on `values`."""
    return reached(_readers(values), lambda node: _readers(node.outputs))


def _readers(values: Iterable[Value]) -> Iterator[Node]:
    return (user for value in values for user, _ in value.uses)


def is_constant(value: Value) -> bool:
    """Return whether a value depends only on constants and on known shapes."""
    return all(
        _is_known(node) or not (isinstance(node.op, Parameter) or node.bodies or not node.op.pure)
        for node in upstream([value.producer], lambda node: () if _is_known(node) else node.inputs)
    )


def _is_known(node: Node) -> bool:
    """Return whether a node reads only the shape of a value, which is known."""
    value = node.inputs[0] if node.op.reads_shape_only else None
    type = None if value is None else value.type
    return isinstance(type, TensorType) and type.shape.count() is not None


def topological(nodes: list[Node]) -> tuple[list[Node], list[Node]]:
    """Sort `nodes` so that producers come before readers, and otherwise keep their order.

    Returns the ordered nodes and those that could not be ordered: cycles and the nodes that depend
    on them.
    """
    position = {node: index for index, node in enumerate(nodes)}
    ordered: list[Node] = []
    state: dict[Node, int] = {}
    stuck: list[Node] = []
    for start in nodes:
        if start in state:
            continue
        stack: list[tuple[Node, Iterator[Value | None]]] = [(start, iter(start.inputs))]
        state[start] = 1
        while stack:
            node, inputs = stack[-1]
            for value in inputs:
                producer = None if value is None else value.producer
                if producer is None or producer not in position:
                    continue
                if state.get(producer) == 1:
                    stuck.append(node)
                elif producer not in state:
                    state[producer] = 1
                    stack.append((producer, iter(producer.inputs)))
                    break
            else:
                stack.pop()
                state[node] = 2
                ordered.append(node)
    return ordered, stuck
