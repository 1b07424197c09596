"""Traversals of a graph and its bodies."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Op, Parameter
from irloop.graph.types import TensorType

__all__ = [
    "all_graphs",
    "all_nodes",
    "count_nodes",
    "has_op",
    "is_constant",
    "kinds_of",
    "node_path",
    "topological",
]


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
    graph = node.graph
    if graph is None or graph.owner is None:
        return node.name
    parts = [node.name]
    while graph is not None and graph.owner is not None:
        owner = graph.owner
        label = next((body.label for body in owner.bodies if body.graph is graph), "body")
        parts += [label, owner.name]
        graph = owner.graph
    return "/".join(reversed(parts))


def is_constant(value: Value) -> bool:
    """Return whether a value depends only on constants and on known shapes."""
    pending, seen = [value], {value}
    while pending:
        producer = pending.pop().producer
        if producer.op.reads_shape_only and _has_known_shape(producer.inputs[0]):
            continue
        if isinstance(producer.op, Parameter) or producer.bodies or not producer.op.pure:
            return False
        fresh = [item for item in producer.inputs if item is not None and item not in seen]
        seen.update(fresh)
        pending += fresh
    return True


def _has_known_shape(value: Value | None) -> bool:
    return (
        value is not None
        and isinstance(value.type, TensorType)
        and value.type.shape.count() is not None
    )


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
