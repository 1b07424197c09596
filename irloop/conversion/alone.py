"""Makes a model of a single node, in which it can be converted apart from its model."""

from __future__ import annotations

from typing import NamedTuple

from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.clone import clone_bodies
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import TensorType
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.stored import stored

__all__ = ["Alone", "alone"]


class Alone(NamedTuple):
    """A model that contains only one node, its bodies and its constant inputs.

    `inputs` has for each input of the model the value that the node reads, and `outputs` for each
    output of the model the position of the node's output.
    """

    model: Model
    inputs: list[Value]
    outputs: list[int]


def alone(node: Node, rewriter: MatchRewriter, opsets: dict[str, int] | None = None) -> Alone:
    """Copy a node into a model of its own; `opsets` are those of an ONNX model.

    Each input of the node that is not constant becomes an input of the model, and each output that
    is read an output.
    """
    graph = Graph(node.name)
    outer: list[Value] = []
    inner: dict[Value, Value] = {}
    for value in node.inputs:
        if value is None or value in inner:
            continue
        tensor = _constant(value, rewriter)
        if tensor is not None:
            inner[value] = graph.add_constant(tensor, f"constant_{len(inner)}")
            continue
        inner[value] = graph.add_parameter(f"input_{len(outer)}", value.type)
        outer.append(value)
    inputs = tuple(None if value is None else inner[value] for value in node.inputs)
    types = tuple(value.type for value in node.outputs)
    made = graph.add_node(
        node.op, node.name, inputs, len(node.outputs), types=types, bodies=clone_bodies(node)
    )
    read = [value.index for value in node.outputs if value.is_used]
    for index in read:
        graph.add_result(made.outputs[index], f"output_{index}")
    if isinstance(node.op, OpenVinoOp):
        return Alone(Model(graph, "openvino", 11), outer, read)
    return Alone(Model(graph, "onnx", 0, dict(opsets or {})), outer, read)


def _constant(value: Value, rewriter: MatchRewriter) -> Tensor | None:
    tensor = stored(value)
    if tensor is not None:
        return tensor
    known = rewriter.inference.constant(value)
    if known is None or not isinstance(value.type, TensorType):
        return None
    return ArrayTensor(known, value.type.element)
