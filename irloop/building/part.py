"""Cuts a part out of a model: what lies between some of its values, or the body of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irloop.errors import UsageError, did_you_mean
from irloop.graph.clone import clone_part
from irloop.graph.model import Graph, Model, Value
from irloop.graph.walk import all_nodes, node_path, upstream

__all__ = ["part_of"]

#: At most this many names are listed in a message.
_LISTED = 20


def part_of(
    model: Model, inputs: Sequence[str], outputs: Sequence[str], body: str | None = None
) -> Model:
    """Make a model of a part; see `irloop.extract` for the arguments and the errors."""
    graph = model.graph if body is None else _body(model, body)
    names = _names(graph)
    starts = [_found(names, name, graph) for name in inputs]
    ends = [_found(names, name, graph) for name in outputs] or list(graph.outputs)
    titles = list(outputs) or [node.name for node in graph.results]
    used = _upstream(ends, {*starts})
    for name, value in zip(inputs, starts, strict=True):
        if value not in used:
            raise UsageError(f"no output depends on the input {name!r}")
    chosen = dict(zip(starts, inputs, strict=True))
    for node in graph.parameters:
        if node.outputs[0] in used:
            chosen.setdefault(node.outputs[0], node.name)
    if body is not None and not inputs and not outputs:
        # A whole body keeps the wires that nothing in it reads.
        chosen = {node.outputs[0]: node.name for node in graph.parameters}
    made = clone_part(graph, chosen, list(zip(titles, ends, strict=True)))
    made.name = body or graph.name
    return replace(model, graph=made, opsets=dict(model.opsets), source=None)


def _body(model: Model, path: str) -> Graph:
    """The body with this path, such as ``Loop_7/body``; the only body may go without its label."""
    bodies = {
        f"{node_path(node)}/{body.label}": body.graph
        for node in all_nodes(model.graph)
        for body in node.bodies
    }
    for node in all_nodes(model.graph):
        if len(node.bodies) == 1:
            bodies.setdefault(node_path(node), node.bodies[0].graph)
    if path not in bodies:
        raise UsageError(
            f"the model has no body {path!r}",
            expected=", ".join([*bodies][:_LISTED]) or "a model with loops or branches",
            fix=did_you_mean(path, bodies),
        )
    return bodies[path]


def _names(graph: Graph) -> dict[str, Value]:
    """The values of a graph by their names, and by those of their operations."""
    values: dict[str, Value] = {}
    for node in (*graph.parameters, *graph.nodes):
        for value in node.outputs:
            for name in (*value.names, value.name):
                values.setdefault(name, value)
    for node in (*graph.parameters, *graph.nodes):
        if len(node.outputs) == 1:
            values.setdefault(node.name, node.outputs[0])
    for node in graph.results:
        if node.inputs[0] is not None:
            values.setdefault(node.name, node.inputs[0])
    return values


def _found(names: dict[str, Value], name: str, graph: Graph) -> Value:
    if name in names:
        return names[name]
    place = "the model" if graph.owner is None else "the body"
    raise UsageError(
        f"no value of {place} is called {name!r}",
        expected="the name of a tensor, an operation, an input or an output",
        fix=did_you_mean(name, names) or "irloop inspect lists the names",
    )


def _upstream(ends: Sequence[Value], starts: set[Value]) -> set[Value]:
    """The values on which `ends` depend, down to `starts` and the parameters."""
    nodes = upstream(
        (value.producer for value in ends if value not in starts),
        lambda node: (value for value in node.inputs if value not in starts),
    )
    inputs = (value for node in nodes for value in node.inputs)
    return {*ends, *(value for value in inputs if value is not None)}
