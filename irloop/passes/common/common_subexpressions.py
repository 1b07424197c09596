"""Removes duplicate computations."""

from __future__ import annotations

from typing import Any

from irloop.graph.model import Graph, Model, Node
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.passes.base import ModelPass

__all__ = ["CommonSubexpressions"]

#: Constants of more bytes than this are compared by their location in the file, not by content.
COMPARE_LIMIT = 4096


class CommonSubexpressions(ModelPass):
    """Merges nodes with the same operation, attributes and inputs, within each body separately.

    Given::

        a = x + y    b = x + y    z = a * b

    Result::

        a = x + y    z = a * a

    Nodes with bodies, a state or random results are not merged.
    """

    name = "common_subexpressions"

    def run_on_model(self, model: Model) -> bool:
        return self._merge(model.graph)

    def _merge(self, graph: Graph) -> bool:
        rewriter = Rewriter(graph)
        seen: dict[Any, Node] = {}
        for node in graph.nodes:
            for body in node.bodies:
                rewriter.modified |= self._merge(body.graph)
            key = _key(node)
            if key is None or self.transformation_callback(node):
                continue
            first = seen.setdefault(key, node)
            if first is node or _are_outputs(first, node):
                continue
            rewriter.replace_node(node, first.outputs)
        return rewriter.modified


def _are_outputs(first: Node, second: Node) -> bool:
    """True if each of the two nodes has an output that is an output of the graph.

    They cannot be merged then, because each output of the graph needs its own producer.
    """
    return all(any(value.is_output for value in node.outputs) for node in (first, second))


def _key(node: Node) -> Any:
    op = node.op
    if node.bodies or not op.pure or not node.outputs or node.attributes:
        return None
    if isinstance(op, Constant):
        tensor = op.tensor
        if tensor.nbytes > COMPARE_LIMIT:
            return None
        return "constant", tensor.element, tensor.shape, bytes(tensor.raw())
    if not op.can_run():
        return None
    return op, node.inputs, len(node.outputs)
