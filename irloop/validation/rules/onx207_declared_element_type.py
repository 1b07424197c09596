"""ONX207: declared element type is not the computed one."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import node_path
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule


class DeclaredElementType(
    OnnxRule,
    code="ONX207",
    severity=Severity.ERROR,
    title="declared element type is not the computed one",
    requires=("ONX201", "ONX206"),
):
    """An output, or a value in `value_info`, is declared with another element type than it has.

    What it does:
        Compares the declared element types with those that the operations give, bodies included.
    Why is this bad:
        onnx.checker (full check) and ONNX Runtime refuse the model ("Type (tensor(int32)) of output
        arg does not match expected type (tensor(float))").
    Bad example:
        a graph output declared float that a Cast to int32 gives
    Good example:
        the same output declared int32
    Fix:
        Correct the declaration, or insert a Cast.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding a value."""
        for graph in context.inferred_graphs:
            for node in graph.nodes:
                for value in node.outputs:
                    said, known = context.declared_type(value), value.type
                    if not isinstance(said, TensorType) or not isinstance(known, TensorType):
                        continue
                    if ElementType.DYNAMIC in (said.element, known.element):
                        continue
                    if said.element is not known.element:
                        path = node_path(node)
                        name = value.names[0] if value.names else path
                        yield self.found(
                            at_path(path),
                            f"{name!r} is declared {said.element} and computed {known.element}",
                            expected=str(known.element),
                            found=str(said.element),
                            fix="correct the declaration, or insert a Cast",
                        )
