"""Changes that simplify a pair of differing models, and functions that build changes.

A change has a name and a function, which returns the simpler pair, or None if the change cannot be
made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_graphs, all_nodes

__all__ = [
    "Change",
    "Pair",
    "complexity",
    "computed",
    "constant_count",
    "numbered",
    "ones_like",
    "operations",
    "replaced",
    "values_of",
]

#: A change: its name, a function that makes it (returns None if it does not apply), and the
#: position of the model if only one is changed.
Change = tuple[str, Callable[["Pair"], "Pair | None"], int | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models and the inputs of each."""

    models: tuple[Model, Model]
    arrays: tuple[tuple[Any, ...], tuple[Any, ...]]


def operations(model: Model) -> int:
    """Count the operations of a model and of its bodies; constants are not counted."""
    return sum(not isinstance(node.op, Constant) for node in all_nodes(model.graph))


def complexity(pair: Pair) -> tuple[int, int, int]:
    """Measure a pair of models: (operations, parameters, sum of sizes and trip counts).

    Each number is the total of both models, bodies included. The last number adds up all known
    dimensions of tensors and the constant trip counts of Loops.
    """
    work = parameters = sizes = 0
    for model in pair.models:
        work += operations(model)
        for graph in all_graphs(model.graph):
            parameters += len(graph.parameters)
        for node in all_nodes(model.graph):
            sizes += constant_count(node) or 0
        for value in values_of(model.graph):
            dims = value.type.shape.dims if isinstance(value.type, TensorType) else None
            sizes += sum(dim for dim in dims or () if isinstance(dim, int))
    return work, parameters, sizes


def values_of(graph: Graph) -> Iterator[Value]:
    for inner in all_graphs(graph):
        yield from inner.inputs
        for node in inner.nodes:
            yield from node.outputs


def numbered(model: Model) -> dict[Value, int]:
    return {value: at for at, value in enumerate(values_of(model.graph))}


def computed(model: Model) -> Iterator[Value]:
    """Yield the values that operations compute, except constants.

    Outer graphs come before their bodies, and the last values of a graph before its first values.
    The outputs of an operation with several outputs are left out, unless it is a loop or branch.
    """
    for graph in all_graphs(model.graph):
        for node in reversed(graph):
            if (node.bodies or len(node.outputs) == 1) and not isinstance(node.op, Constant):
                yield from node.outputs


def replaced(values: Mapping[int, tuple[int, int | None]]) -> Callable[[Pair], Pair | None]:
    """Make a change that replaces one value in one or both models of a pair.

    The keys of `values` are the positions of the models in the pair. Each entry holds the index of
    the old value and the index of the new one, or None for a tensor of ones. The change returns
    None if the two values are not in the same graph, or if the tensor of ones cannot be made.
    """

    def change(pair: Pair) -> Pair | None:
        for side, (at, new) in values.items():
            known = list(values_of(pair.models[side].graph))
            old, graph = known[at], known[at].producer.graph
            if graph is None:
                return None
            if new is not None and known[new].producer.graph is not graph:
                return None
            rewriter = Rewriter(graph)
            source = ones_like(rewriter, old) if new is None else known[new]
            if source is None:
                return None
            rewriter.replace_value(old, source, keep_names=new is None)
        return pair

    return change


def ones_like(rewriter: Rewriter, value: Value) -> Value | None:
    """Insert a constant of ones (or True) with the shape of `value`, and return it.

    An unknown size becomes 1. Returns None if the rank is unknown, or the elements are neither
    booleans nor floats of at least 16 bits.
    """
    type = value.type
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return None
    dims = [dim if isinstance(dim, int) else 1 for dim in type.shape.dims]
    is_float = type.element.is_float and type.element.bits >= 16
    if not is_float and type.element is not ElementType.BOOLEAN:
        return None
    ones = ArrayTensor(np.ones(dims, type.element.numpy()), type.element)
    name = f"{value.producer.name}_ones"
    before = None if isinstance(value.producer.op, Parameter) else value.producer
    return rewriter.insert_constant(ones, before=before, name=name)


def constant_count(node: Node) -> int | None:
    """The constant trip count of a Loop, or None if it is computed or not positive."""
    value = node.inputs[0] if isinstance(node.op, onnx.Loop | ov.Loop) and node.inputs else None
    if value is None or not isinstance(value.producer.op, Constant):
        return None
    array = value.producer.op.tensor.numpy()
    count = int(array.reshape(-1)[0]) if array.size == 1 else 0
    return count if count > 0 else None
