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

__all__ = ["Facts", "Session"]


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

    @classmethod
    def of(cls, model: Model, facts: Facts | None) -> Session:
        """The session of a pass over a model: that of the pass before it, if `facts` has one."""
        return cls(model) if facts is None else facts.session(model)


class Facts:
    """What is known of a model, until a pass changes it."""

    def __init__(self) -> None:
        self._known: tuple[Graph, Session] | None = None

    def session(self, model: Model) -> Session:
        """The types and names of the model, inferred if nothing is known of it."""
        if self._known is None or self._known[0] is not model.graph:
            self._known = model.graph, Session(model)
        return self._known[1]

    def forget(self) -> None:
        """Forget what was known: the model has changed."""
        self._known = None
