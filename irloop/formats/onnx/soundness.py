"""Decides whether onnx can infer a model's types without the risk of a crash.

If it cannot, the inference of onnx has to run in another process.
"""

from __future__ import annotations

from irloop.errors import InferenceError, IrloopError
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.walk import all_graphs, has_op

__all__ = ["is_sound"]


class _Errors(list[InferenceError]):
    """Errors of inference; `any` is True once an error was added, even if it is removed later."""

    any = False

    def append(self, error: InferenceError) -> None:
        self.any = True
        super().append(error)


class _Judgement(Inference):
    """Inference that records which operations it visited and whether an error occurred.

    Errors that inference ignores are recorded, too.
    """

    def __init__(self) -> None:
        super().__init__(tolerant=True)
        self.errors = self.all_errors = _Errors()

    def has_visited(self, node: Node) -> bool:
        """Return whether the types of the outputs were inferred."""
        return all(value in self._declared for value in node.outputs)


def is_sound(model: Model) -> bool:
    """Return whether irloop's own inference finds no error in any operation of the model.

    The inference of onnx trusts attributes, and may crash where irloop's inference finds an error.
    A model is not sound if it has operations that irloop does not know, or bodies that irloop does
    not infer because they never run. The types in the model are not changed.
    """
    graphs = list(all_graphs(model.graph))
    if has_op(model.graph, UnknownOp):
        return False
    judgement = _Judgement()
    try:
        judgement.run(model.graph)
    except IrloopError:
        return False
    finally:
        judgement.restore_declared()
    # Inference visits all nodes of the outer graph, so only the nodes of bodies are checked here.
    return not judgement.all_errors.any and all(
        judgement.has_visited(node)
        for graph in graphs[1:]
        for node in graph.nodes
        if not isinstance(node.op, Constant)
    )
