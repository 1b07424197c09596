"""ONX202: nodes are not sorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class Unsorted(OnnxRule, code="ONX202", severity=Severity.WARNING, title="nodes are not sorted"):
    """A node comes before the one whose output it reads.

    What it does:
        Checks the nodes of the graph, of each body and of each function that the model calls in
        the order of the file. In a body or a function it is an error.
    Why is this bad:
        The specification demands a topological order, and onnx.checker refuses the file. ONNX
        Runtime sorts the nodes of the main graph itself, but refuses unsorted bodies and functions
        ("Input 0 expected to have type but instead is null"); other readers fail.
    Bad example:
        y = Relu(x) before x = Abs(a)
    Good example:
        x = Abs(a) before y = Relu(x)
    Fix:
        Sort the nodes; reading the model and writing it again does so.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per graph, at the first node that is out of order."""
        for graph in (*context.graphs, *context.functions):
            makers = {name: node for node in graph.nodes for name in node.outputs if name}
            made: set[str] = set()
            for node in graph.nodes:
                late = next((n for n in node.inputs if n in makers and n not in made), None)
                if late is not None and makers[late] is not node:
                    finding = self.found(
                        at_node(node),
                        f"{node.type} {node.label!r} comes before a node whose output it reads",
                        expected=f"{makers[late].type} {makers[late].label!r} before it",
                        found=f"{late!r} is defined later",
                        fix="sort the nodes",
                    )
                    if graph is not context.outline.graph:
                        finding = replace(finding, severity=Severity.ERROR)
                    yield finding
                    break
                made.update(node.outputs)
