"""ONX107: declared size is negative."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class NegativeSize(
    OnnxRule, code="ONX107", severity=Severity.WARNING, title="declared size is negative"
):
    """A dimension of an input, an output or a value is declared with a negative size.

    What it does:
        Checks the declared shapes, bodies included.
    Why is this bad:
        The specification does not allow negative sizes. ONNX Runtime and OpenVINO treat -1 as an
        unknown size; OpenVINO refuses smaller numbers, and onnx.checker refuses both if it infers
        shapes.
    Bad example:
        a dim_value of -1
    Good example:
        a dim_param such as "batch", or neither dim_value nor dim_param
    Fix:
        Give the dimension a name instead of the number.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per name that is declared with a negative size, at its graph."""
        for graph in context.graphs:
            for name, size in graph.negative_sizes.items():
                yield self.found(
                    at_graph(graph),
                    f"{name!r} is declared with the size {size}",
                    expected="a non-negative size, or a name for an unknown size",
                    found=str(size),
                    fix="declare a dim_param in place of the number",
                )
