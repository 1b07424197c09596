"""Matches the inputs and outputs of two models by name or position.

It also refines the input shapes of one model by the input shapes of the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop.graph.clone import clone_graph
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model, Node
from irloop.graph.types import SequenceType, TensorType, ValueType, refine_type

__all__ = ["converted", "input_positions", "output_positions", "refined"]

_SINK = re.compile(r"/sink_port_\d+$")


def refined(first: Model, second: Model) -> Model:
    """Copy `first`, with unknown dimensions of its inputs filled in from the inputs of `second`.

    Inputs are matched by name or, failing that, by position. The types in the copy are inferred
    again. If no input type changes, `first` itself is returned.
    """
    graph = Graph(first.graph.name)
    graph.parameters = list(first.graph.parameters)
    positions = input_positions(first.graph, second.graph)
    changed = False
    types: list[ValueType] = []
    for value, at in zip(first.graph.inputs, positions, strict=True):
        other = second.graph.input(at).type if at is not None else value.type
        types.append(refine_type(value.type, other))
        changed |= types[-1] != value.type
    if not changed:
        return first
    copy = clone_graph(first.graph)
    for node, type in zip(copy.parameters, types, strict=True):
        node.outputs[0].type = type
    Inference(tolerant=True).run(copy)
    return replace(first, graph=copy)


def input_positions(first: Graph, second: Graph) -> list[int | None]:
    """Match the inputs of two graphs by name or, if there is no such name, by position.

    Returns, for each input of the first graph, the position in the second, or None without a match.
    """
    names = [{node.name, *node.outputs[0].names} for node in second.parameters]
    return _matched([{node.name, *node.outputs[0].names} for node in first.parameters], names)


def output_positions(first: Graph, second: Graph) -> list[int | None]:
    """For each output of the first graph, return the position of its match in the second.

    Outputs are matched by name or, failing that, by position. The position is None if no output
    matches.
    """
    return _matched(list(map(_names, first.results)), list(map(_names, second.results)))


def _names(result: Node) -> set[str]:
    """The names of an output: its own, and those of the tensor that it reads.

    OpenVINO names an output after this tensor.
    """
    value = result.inputs[0]
    return {_SINK.sub("", result.name), *(() if value is None else value.names)}


def _matched(left: Sequence[set[str]], right: Sequence[set[str]]) -> list[int | None]:
    partners: list[int | None] = [None] * len(left)
    free = dict.fromkeys(range(len(right)))
    for index, names in enumerate(left):
        fitting = [other for other in free if names & right[other]]
        if len(fitting) == 1:
            partners[index] = fitting[0]
            del free[fitting[0]]
    rest = iter(list(free))
    return [next(rest, None) if at is None else at for at in partners]


def converted(value: Any, type: ValueType) -> Any:
    """Convert integers in `value` to the integer type that `type` declares; keep other values.

    Two models may declare i32 and i64 for the same input. The items of lists are converted, too.
    """
    if isinstance(value, list) and isinstance(type, SequenceType):
        return [converted(item, type.item) for item in value]
    if not isinstance(value, np.ndarray) or not isinstance(type, TensorType):
        return value
    if value.dtype.kind in "iu" and type.element.is_integer:
        return value.astype(type.element.numpy())
    return value
