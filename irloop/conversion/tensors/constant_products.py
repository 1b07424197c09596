"""Folds products of constants and compressed weights, which OpenVINO cannot fold."""

from __future__ import annotations

from irloop.dialects.openvino.matmul import MatMul
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import Tensor
from irloop.graph.walk import all_graphs, upstream
from irloop.passes.base import ModelPass
from irloop.passes.folding import folded_outputs
from irloop.passes.stored import is_stored

__all__ = ["FoldConstantProducts"]


class FoldConstantProducts(ModelPass):
    """Replaces a product of a constant and weights of 4 or 8 bits by its result.

    Given::

        y = MatMul(Const f32 [49, 64], Convert(Const u4 [64, 8]) * Const f32 [64, 1])

    Result::

        y = Const f32 [49, 8]

    OpenVINO keeps the weights compressed for its kernel, so it has no constant to fold: it refuses
    to load the model. Such a product occurs where a network computes a table of positions.
    """

    name = "fold_constant_products"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        modified = False
        for graph in all_graphs(model.graph):
            modified |= _fold_graph(graph)
        return modified


def _fold_graph(graph: Graph) -> bool:
    constant: set[Value] = set()
    products: list[Node] = []
    for node in graph.nodes:
        inputs = [value for value in node.inputs if value is not None]
        if node.bodies or not node.op.pure or not constant.issuperset(inputs):
            continue
        if not inputs and not isinstance(node.op, Constant):
            continue
        constant.update(node.outputs)
        if isinstance(node.op, MatMul) and not all(map(is_stored, inputs)):
            products.append(node)
    if not products:
        return False
    needed = set(upstream(products))
    known: dict[Value, Tensor] = {}
    rewriter = Rewriter(graph)
    for node in [node for node in graph.nodes if node in needed]:
        made = _folded(node, known)
        known.update(zip(node.outputs, made, strict=False))
        if made and node in products:
            value = rewriter.insert_constant(made[0], before=node, name=node.name)
            known[value] = made[0]
            rewriter.replace_node(node, [value])
    return rewriter.modified


def _folded(node: Node, known: dict[Value, Tensor]) -> list[Tensor]:
    if isinstance(node.op, Constant):
        return [node.op.tensor]
    if any(value is not None and value not in known for value in node.inputs):
        return []
    inputs = [None if value is None else known[value] for value in node.inputs]
    return folded_outputs(node, inputs) or []
