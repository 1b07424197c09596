"""ONX106: declared type that does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class DeclaredTypes(
    OnnxRule,
    code="ONX106",
    severity=Severity.ERROR,
    title="wrong or missing declaration",
):
    """An input, an output, a value or an initializer is declared wrongly, or not at all.

    What it does:
        Checks the types of inputs, outputs and `value_info`, bodies included. Where the main graph
        declares a type, its element type must not be 0 (UNDEFINED). An initializer must have the
        shape that an input declares for it. Up to IR version 3, each initializer must be declared
        as an input (it is only a warning if a node reads it), and a body has none.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model, OpenVINO cannot compile it.
    Bad example:
        an input whose TypeProto is empty; elem_type 99; an initializer [1,3] of an input [4,3]
    Good example:
        float[batch, 3]
    Fix:
        Declare an element type of TensorProto.DataType.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Report missing types, unknown element types, and declarations of initializers."""
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
        yield from self._initializers(context)
        for graph in context.graphs:
            for name, number in graph.unknown_types.items():
                yield self.found(
                    at_graph(graph),
                    f"{name!r} is declared with element type {number}",
                    expected="an element type of TensorProto.DataType",
                    found=str(number),
                    fix="correct the declaration",
                )

    def _initializers(self, context: OnnxContext) -> Iterator[Diagnostic]:
        main = context.outline.graph
        for name, dims in main.other_shapes.items():
            yield self.found(
                at_graph(main),
                f"the initializer {name!r} has another shape than the input of this name declares",
                expected=str(main.types[name]),
                found=str(dims),
                fix="correct the declaration",
            )
        if context.outline.ir_version > 3:
            return
        for graph in context.graphs[1:]:
            for name in sorted(graph.undeclared):
                yield self.found(
                    at_graph(graph),
                    f"the body has the initializer {name!r}, and no input declares it",
                    expected="no initializers in bodies (before IR version 4)",
                    found=f"IR version {context.outline.ir_version}",
                    fix="make it a Constant, or raise ir_version to 4 or more",
                )
        read = {name for graph in context.graphs for node in graph.nodes for name in node.inputs}
        unread = main.undeclared - read - set(main.outputs)
        for name in sorted(unread):
            yield self.found(
                at_graph(main),
                f"no node reads the initializer {name!r}, and no input declares it",
                expected="an input of this name (before IR version 4)",
                found="none",
                fix="remove the initializer",
            )
        rest = sorted(main.undeclared - unread)
        if rest:
            finding = self.found(
                at_graph(main),
                f"no input declares the initializer {rest[0]!r}"
                + (f" and {len(rest) - 1} more" if rest[1:] else ""),
                expected="an input for each initializer (before IR version 4)",
                found=f"IR version {context.outline.ir_version}",
                cause="onnx.checker refuses the model; ONNX Runtime runs it",
                fix="raise ir_version: irloop convert MODEL.onnx -o NEW.onnx --ir-version 8",
            )
            yield replace(finding, severity=Severity.WARNING)
