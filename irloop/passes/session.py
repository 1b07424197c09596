"""Types and names shared by all rewriters of one pass over one model.

A rewriter changes a single graph. The rewriters of the root graph and of all bodies need the same
inferred types, and names that are unique in the whole model.
"""

from __future__ import annotations

from irloop.graph.builder import Names
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model
from irloop.graph.walk import all_graphs
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["Session"]


class Session:
    """Holds the inferred types and the names in use in a root graph and its bodies.

    It also makes rewriters for these graphs.
    """

    def __init__(self, model: Model | Graph) -> None:
        root = model.graph if isinstance(model, Model) else model
        self.inference = Inference(tolerant=True)
        self.inference.run(root)
        self.names = Names()
        for graph in all_graphs(root):
            for node in (*graph.parameters, *graph.nodes, *graph.results):
                self.names.reserve(node.name)

    def rewriter(self, graph: Graph) -> MatchRewriter:
        """A rewriter of one of the model's graphs."""
        return MatchRewriter(graph, self.inference, self.names)
