"""Removes duplicate computations."""

from __future__ import annotations

from typing import Any

from irloop.graph.model import Graph, Model, Node
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.walk import all_graphs
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
        modified = [self._merge(graph) for graph in [*all_graphs(model.graph)]]
        return any(modified)

    def _merge(self, graph: Graph) -> bool:
        rewriter = Rewriter(graph)
        seen: dict[Any, Node] = {}
        #: The nodes of which an output is an output of the graph.
        outputs = {value.producer for value in graph.outputs}
        #: The tensor names of the nodes that were merged into a node, the first one's last.
        names: dict[Node, list[tuple[tuple[str, ...], ...]]] = {}
        for node in graph.nodes:
            key = _key(node)
            if key is None or self.transformation_callback(node):
                continue
            first = seen.setdefault(key, node)
            # Each output of the graph needs its own producer.
            if first is node or (first in outputs and node in outputs):
                continue
            outputs |= {first} if node in outputs else set()
            names.setdefault(first, [_names(first)]).append(_names(node))
            for value in node.outputs:
                value.names = ()
            rewriter.replace_node(node, first.outputs)
        for node, merged in names.items():
            for value, several in zip(
                node.outputs, zip(*reversed(merged), strict=True), strict=True
            ):
                value.names = tuple(dict.fromkeys(name for part in several for name in part))
        return rewriter.modified


def _names(node: Node) -> tuple[tuple[str, ...], ...]:
    return tuple(value.names for value in node.outputs)


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
