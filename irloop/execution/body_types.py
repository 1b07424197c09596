"""Infers the types of body values without changing the model."""

from __future__ import annotations

from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Value
from irloop.graph.types import ValueType, refine_type
from irloop.graph.walk import all_graphs, all_nodes

__all__ = ["body_types"]


def body_types(graph: Graph) -> dict[Value, ValueType]:
    """Infer the types of all values of a graph that contains loops or branches.

    Inference is needed for the shapes of the outputs of a loop that runs zero times. The result is
    empty for other graphs, because their declared types are enough.
    """
    if not any(node.bodies for node in graph.nodes):
        return {}
    declared = {value: value.type for value in _values(graph)}
    try:
        Inference(tolerant=True).run(graph)
        return {value: refine_type(value.type, kept) for value, kept in declared.items()}
    finally:
        for value, kept in declared.items():
            value.type = kept


def _values(graph: Graph) -> list[Value]:
    values: list[Value] = []
    for inner in all_graphs(graph):
        values.extend(inner.inputs)
    for node in all_nodes(graph):
        values.extend(node.outputs)
    return values
