"""ONX303: output of a Loop has no name."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class OutputLeftEmpty(
    OnnxRule,
    code="ONX303",
    severity=Severity.WARNING,
    title="output of a Loop has no name",
):
    """An output of a Loop is omitted by an empty name.

    What it does:
        Looks for Loop outputs with an empty name that are followed by an output with a name.
    Why is this bad:
        ONNX Runtime 1.31 crashes (segmentation fault) when it loads such a model.
    Bad example:
        '', ys = Loop(...)
    Good example:
        unused, ys = Loop(...)
    Fix:
        Name every output.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Loop that has an output with an empty name."""
        for node in context.nodes("Loop"):
            if "" in node.outputs:
                yield self.found(
                    at_node(node),
                    f"output {node.outputs.index('')} of Loop {node.label!r} has no name",
                    expected="a name for each output",
                    found="an empty name",
                    cause="ONNX Runtime crashes when it loads such a model",
                    fix="name every output",
                )
