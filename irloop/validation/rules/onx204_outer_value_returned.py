"""ONX204: body returns a value of an outer graph directly."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import FILE, OnnxRule


class OuterValueReturned(
    OnnxRule,
    code="ONX204",
    severity=Severity.ERROR,
    title="body returns a value of an outer graph directly",
    requires=("ONX101",),
    scope=FILE,
):
    """An output of a body is a value that the body neither computes nor receives as an input.

    What it does:
        Looks up each output of each body among its inputs, initializers and outputs of nodes.
    Why is this bad:
        By the specification the outputs must be values of the body. ONNX Runtime refuses the model
        ("Subgraph output is an outer scope value being returned directly").
    Bad example:
        a then_branch without nodes whose output is the outer value x
    Good example:
        a then_branch with y = Identity(x) whose output is y
    Fix:
        Insert an Identity.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per body output that is not a value of the body."""
        for graph in context.graphs:
            if graph.parent is None:
                continue
            own = {*graph.inputs, *graph.initializers}
            own.update(name for node in graph.nodes for name in node.outputs)
            for name in graph.outputs:
                if name not in own:
                    yield self.found(
                        at_graph(graph),
                        f"the output {name!r} is not a value of this body",
                        expected="an input, initializer or output of a node of the body",
                        found="a value of an outer graph",
                        fix="insert an Identity in the body",
                    )
