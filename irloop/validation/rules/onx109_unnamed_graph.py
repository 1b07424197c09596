"""ONX109: graph has no name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class UnnamedGraph(OnnxRule, code="ONX109", severity=Severity.WARNING, title="graph has no name"):
    """A body or the main graph has no name.

    What it does:
        Looks for empty names of graphs. In a body it is an error.
    Why is this bad:
        The specification demands a name, and onnx.checker refuses the model ("Field 'name' of
        'graph' is required to be non-empty"). ONNX Runtime loads a main graph without a name, but
        no body.
    Bad example:
        helper.make_graph([node], "", [], [output]) for a branch of an If
    Good example:
        helper.make_graph([node], "then", [], [output])
    Fix:
        Give the graph a name; reading the model and writing it again does so.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per graph without a name."""
        for graph in (*context.graphs, *context.functions):
            if graph.name:
                continue
            finding = self.found(
                at_graph(graph),
                "the graph has no name" if graph.parent is None else "the body has no name",
                expected="a name",
                found="none",
                fix="give the graph a name",
            )
            is_main = graph.parent is None
            yield finding if is_main else replace(finding, severity=Severity.ERROR)
