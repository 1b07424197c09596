"""Decides whether onnx may infer a model in this process."""

from __future__ import annotations

from irloop.errors import IrloopError
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.walk import all_graphs

__all__ = ["is_sound"]


class _Judgement(Inference):
    """Inference that remembers which operations it visited, and whether any error occurred, even an
    ignored one.
    """

    def __init__(self) -> None:
        super().__init__(tolerant=True)
        self.visited: set[Node] = set()
        self.found_error = False

    def visit(self, node: Node) -> None:
        before = len(self.errors)
        super().visit(node)
        self.visited.add(node)
        self.found_error |= len(self.errors) > before


def is_sound(model: Model) -> bool:
    """True if irloop's own inference finds no error in any operation; the types stay as they are.

    The inference of onnx trusts attributes, and may crash where irloop's inference finds an error.
    A model is not sound if it has operations that irloop does not know, or bodies that irloop does
    not infer because they never run.
    """
    graphs = list(all_graphs(model.graph))
    nodes = [node for graph in graphs for node in (*graph.parameters, *graph.nodes)]
    types = [(value, value.type) for node in nodes for value in node.outputs]
    judgement = _Judgement()
    try:
        judgement.run(model.graph)
    except IrloopError:
        return False
    finally:
        for value, type in types:
            value.type = type
    judged = judgement.visited
    return not judgement.found_error and all(
        node in judged and not isinstance(node.op, UnknownOp)
        for graph in graphs
        for node in graph.nodes
        if not isinstance(node.op, Constant)
    )
