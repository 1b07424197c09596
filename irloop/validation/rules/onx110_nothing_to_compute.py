"""ONX110: model has neither outputs nor operations."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class NothingToCompute(
    OnnxRule,
    code="ONX110",
    severity=Severity.ERROR,
    title="model has neither outputs nor operations",
):
    """The main graph has neither outputs nor nodes.

    What it does:
        Looks for a main graph without outputs and without nodes.
    Why is this bad:
        ONNX Runtime refuses the model ("OrtValue indexes should have been populated").
    Bad example:
        g (float[2] x) => () { }
    Good example:
        g (float[2] x) => (float[2] y) { y = Relu (x) }
    Fix:
        Export the model with its outputs.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding if the main graph has neither outputs nor nodes."""
        graph = context.outline.graph
        if graph.outputs or graph.nodes:
            return
        yield self.found(
            at_graph(graph),
            "the model has neither outputs nor operations",
            expected="an output",
            found="none",
            fix="export the model with its outputs",
        )
