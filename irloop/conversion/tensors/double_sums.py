"""Folds sums of f64 constants, because OpenVINO never finishes compiling some of them."""

from __future__ import annotations

from irloop.graph.model import Graph, Model
from irloop.graph.rewriter import Rewriter
from irloop.graph.walk import all_graphs
from irloop.hazards.plugin import sums_double_constants
from irloop.passes.base import ModelPass
from irloop.passes.folding import folded

__all__ = ["FoldDoubleSums"]


class FoldDoubleSums(ModelPass):
    """Folds sums and differences of f64 constants, including constants that are converted to f64.

    Given::

        s = Add(Const f64, Const f64)    t = Add(s, Const f64)

    Result::

        t = Const f64

    Without this pass, OpenVINO would never finish the compilation (hazard OVN127).
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
        if not sums_double_constants(node):
            continue
        tensor = folded(node.outputs[0])
        if tensor is not None:
            constant = rewriter.insert_constant(tensor, before=node, name=node.name)
            rewriter.replace_node(node, [constant])
    return rewriter.modified
