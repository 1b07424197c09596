"""Copies graphs, and copies the nodes of a body into the enclosing graph."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from irloop.graph.model import Body, Graph, Model, Node, Value, link, make_node
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import Tensor
from irloop.graph.walk import upstream

__all__ = [
    "clone_bodies",
    "clone_graph",
    "clone_into",
    "clone_model",
    "clone_part",
    "clone_upstream",
]


def clone_model(model: Model) -> Model:
    """A copy of a model; constants share their data."""
    return replace(
        model,
        graph=clone_graph(model.graph),
        opsets=dict(model.opsets),
        metadata=dict(model.metadata),
    )


def clone_graph(graph: Graph) -> Graph:
    """A copy of a graph and its bodies; constants share their data."""
    copy = Graph(graph.name)
    values: dict[Value, Value] = {}
    for node in graph.parameters:
        old = node.outputs[0]
        values[old] = copy.add_parameter(node.name, old.type, old.names, node.location)
        _keep(node, copy.parameters[-1])
    for node in graph.nodes:
        new = _clone_node(node, values, node.name)
        link(copy, new, before=None)
    for node in graph.results:
        old_value = node.inputs[0]
        assert old_value is not None
        _keep(node, copy.add_result(values[old_value], node.name, node.location))
    return copy


def clone_upstream(node: Node, known: Mapping[Value, Tensor] = MappingProxyType({})) -> Graph:
    """Copy `node`, and all nodes that it depends on, to a new graph without inputs.

    The results of the new graph are the outputs of the copied `node`. A value in `known` becomes a
    constant, so the nodes before it are not needed. Whatever reaches `node` from a parameter must
    pass through such a value. The copied constants share their data with the original ones.
    """
    assert node.graph is not None
    needed = _needed([node], known)
    inputs = (value for one in needed for value in one.inputs if value is not None)
    used = dict.fromkeys(value for value in inputs if value in known)
    copy = Graph(node.graph.name)
    values: dict[Value, Value] = {}
    for value in used:
        values[value] = copy.add_constant(known[value], f"{value.producer.name}/{value.index}")
    for one in node.graph.nodes:
        if one in needed:
            link(copy, _clone_node(one, values, one.name), before=None)
    for index, value in enumerate(node.outputs):
        copy.add_result(values[value], f"{node.name}/{index}", node.location)
    return copy


def _needed(nodes: Iterable[Node], known: Container[Value]) -> dict[Node, None]:
    """The nodes from which `nodes` are computed, if the `known` values are given; in this order."""
    found = upstream(nodes, lambda node: (value for value in node.inputs if value not in known))
    return dict.fromkeys(found)


def clone_part(
    graph: Graph, inputs: Mapping[Value, str], outputs: Sequence[tuple[str, Value]]
) -> Graph:
    """Copy the nodes between some values of a graph to a new graph; constants share their data.

    `inputs` are the values that become parameters, with their names, and `outputs` the values that
    become results. Whatever reaches an output from a parameter must pass through `inputs`.
    """
    copy = Graph(graph.name)
    values: dict[Value, Value] = {}
    for value, name in inputs.items():
        values[value] = copy.add_parameter(name, value.type, value.names, value.producer.location)
    needed = _needed((value.producer for _, value in outputs if value not in inputs), inputs)
    for node in graph.nodes:
        if node in needed:
            kept = {value: values[value] for value in node.outputs if value in values}
            link(copy, _clone_node(node, values, node.name), before=None)
            values.update(kept)
    for name, value in outputs:
        copy.add_result(values[value], name, value.producer.location)
    return copy


def clone_into(
    source: Graph,
    rewriter: Rewriter,
    parameters: Sequence[Value],
    *,
    before: Node | None,
    suffix: str = "",
) -> list[Value]:
    """Copy the nodes of `source` into the rewriter's graph, before a node or at the end.

    `parameters` replace the parameters of `source`. Returns the copies of the values that the
    results of `source` read. `suffix` is appended to the names of the copies.
    """
    values: dict[Value, Value] = dict(zip(source.inputs, parameters, strict=True))
    for node in source.nodes:
        inputs = tuple(None if value is None else values[value] for value in node.inputs)
        new = rewriter.insert(
            node.op,
            inputs,
            before=before,
            name=node.name + suffix,
            n_outputs=len(node.outputs),
            types=tuple(value.type for value in node.outputs),
            bodies=clone_bodies(node),
        )
        _keep(node, new)
        values.update(zip(node.outputs, new.outputs, strict=True))
    return [values[value] for value in source.outputs]


def _clone_node(node: Node, values: dict[Value, Value], name: str) -> Node:
    new = make_node(
        node.op,
        name,
        tuple(None if value is None else values[value] for value in node.inputs),
        len(node.outputs),
        tuple(value.type for value in node.outputs),
        tuple(value.names for value in node.outputs),
        clone_bodies(node),
        node.location,
    )
    _keep(node, new)
    values.update(zip(node.outputs, new.outputs, strict=True))
    return new


def clone_bodies(node: Node) -> tuple[Body, ...]:
    """Copies of the bodies of a node, with their port maps."""
    return tuple(Body(body.label, clone_graph(body.graph), body.ports) for body in node.bodies)


def _keep(old: Node, new: Node) -> None:
    new.info = old.info
    new.attributes = old.attributes
    for before, after in zip(old.outputs, new.outputs, strict=True):
        after.info = before.info
