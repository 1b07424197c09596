"""ONX215: two nodes of one graph have the same name."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineNode
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class OneNameTwice(
    OnnxRule,
    code="ONX215",
    severity=Severity.ERROR,
    title="two nodes of one graph have the same name",
):
    """Two nodes of a graph have the same name.

    What it does:
        Compares the names of the nodes of each graph, body and called function. Nodes without a
        name and Constants are not compared.
    Why is this bad:
        The specification demands different names, and ONNX Runtime refuses the model ("This is an
        invalid model. Error: two nodes with same node name"). onnx.checker does not notice it.
    Bad example:
        [n] h = Abs (x) and [n] y = Neg (h)
    Good example:
        [n] h = Abs (x) and [m] y = Neg (h)
    Fix:
        Rename one of the nodes, or write the model again: irloop transform MODEL -o NEW.onnx --pass
        simplify removes the second name.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per node that has the name of an earlier node of its graph."""
        for graph in (*context.graphs, *context.functions):
            first: dict[str, OutlineNode] = {}
            for node in graph.nodes:
                if not node.name or (node.type == "Constant" and not node.domain):
                    continue
                other = first.setdefault(node.name, node)
                if other is not node:
                    yield self.found(
                        at_node(node),
                        f"{node.type} {node.name!r} has the name of another node",
                        expected="a name that no other node of the graph has",
                        found=f"{other.type} and {node.type} of the name {node.name!r}",
                        fix="rename one; irloop transform --pass simplify removes the second name",
                    )
