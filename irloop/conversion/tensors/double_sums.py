"""Folds sums of f64 constants, at which OpenVINO's compilation never ends."""

from __future__ import annotations

from irloop.graph.model import Graph, Model, Node
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import Tensor
from irloop.graph.walk import all_graphs
from irloop.hazards.plugin import sums_double_constants
from irloop.passes.base import ModelPass
from irloop.passes.folding import folded_outputs

__all__ = ["FoldDoubleSums"]


class FoldDoubleSums(ModelPass):
    """Computes sums and differences of f64 constants.

    Given::

        s = Add(Const f64, Const f64)    t = Add(s, Const f64)

    Result::

        t = Const f64

    Hazard OVN127 is the reason.
    """

    name = "fold_double_sums"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        modified = False
        for graph in all_graphs(model.graph):
            modified |= _fold_graph(graph)
        return modified


def _fold_graph(graph: Graph) -> bool:
    rewriter = Rewriter(graph)
    for node in graph.nodes:
        tensors = _constants(node)
        made = None if tensors is None else folded_outputs(node, tensors)
        if made is not None:
            constant = rewriter.insert_constant(made[0], before=node, name=node.name)
            rewriter.replace_node(node, [constant])
    return rewriter.modified


def _constants(node: Node) -> list[Tensor | None] | None:
    """The operands of a sum of f64 constants; None for any other node."""
    if not sums_double_constants(node):
        return None
    ops = [None if value is None else value.producer.op for value in node.inputs]
    return [op.tensor for op in ops if isinstance(op, Constant)]
