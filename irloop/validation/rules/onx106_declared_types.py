"""ONX106: declared type that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class DeclaredTypes(
    OnnxRule,
    code="ONX106",
    severity=Severity.ERROR,
    title="declared type that does not exist",
):
    """A model input has no type, or a declaration names an element type that does not exist.

    What it does:
        Checks the types of inputs, outputs and `value_info`, bodies included. Where the main graph
        declares a type, its element type must not be 0 (UNDEFINED).
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model, OpenVINO cannot compile it.
    Bad example:
        an input whose TypeProto is empty; elem_type 99
    Good example:
        float[batch, 3]
    Fix:
        Declare an element type of TensorProto.DataType.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Report model inputs without a type, and names declared with an unknown element type."""
        main = context.outline.graph
        for name in main.inputs:
            if name in main.untyped:
                yield self.found(
                    at_graph(main),
                    f"the model input {name!r} has no type",
                    expected="an element type, and a shape where it is known",
                    found="an empty type",
                    fix="declare its type",
                )
        for graph in context.graphs:
            for name, number in graph.unknown_types.items():
                yield self.found(
                    at_graph(graph),
                    f"{name!r} is declared with element type {number}",
                    expected="an element type of TensorProto.DataType",
                    found=str(number),
                    fix="correct the declaration",
                )
