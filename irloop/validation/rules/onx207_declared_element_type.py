"""ONX207: declared element type differs from the computed one."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.graph.types import ElementType, OptionalType, TensorType, ValueType
from irloop.graph.walk import node_path
from irloop.validation.onnx_bodies import kind_of
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule


class DeclaredElementType(
    OnnxRule,
    code="ONX207",
    severity=Severity.ERROR,
    title="declared element type differs from the computed one",
    requires=("ONX201", "ONX206"),
):
    """An output, or a value in `value_info`, is declared with a different element type than it has.

    What it does:
        Compares the declared element types with the inferred ones, bodies included.
    Why is this bad:
        onnx.checker (full check) and ONNX Runtime refuse the model ("Type (tensor(int32)) of output
        arg does not match expected type (tensor(float))").
    Bad example:
        a graph output declared float that comes from a Cast to int32
    Good example:
        the same output declared int32
    Fix:
        Correct the declaration, or insert a Cast.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per node output whose declared element type differs from the computed one."""
        for graph in context.inferred_graphs:
            for node in graph.nodes:
                for value in node.outputs:
                    declared, computed = context.declared_type(value), value.type
                    if _agree(declared, computed):
                        continue
                    path = node_path(node)
                    name = value.names[0] if value.names else path
                    yield from self._compare(at_path(path), name, declared, computed)
                    if not node.bodies or isinstance(computed, OptionalType):
                        yield from self._compare_optionals(at_path(path), name, declared, computed)
        for name, declared, own in context.declared_again:
            yield from self._compare(Location(path=name), name, declared, own)

    def _compare_optionals(
        self, place: Location, name: str, declared: ValueType, computed: ValueType
    ) -> Iterator[Diagnostic]:
        left, right = _with_optional(declared), _with_optional(computed)
        if left and right and left != right and "optional" in left + right:
            yield self.found(
                place,
                f"{name!r} is declared as {left}, but computed as {right}",
                expected=right,
                found=left,
                fix="correct the declaration, or insert an Optional or OptionalGetElement",
            )

    def _compare(
        self, place: Location, name: str, declared: ValueType, computed: ValueType
    ) -> Iterator[Diagnostic]:
        left, right = kind_of(declared), kind_of(computed)
        if left and right and left != right:
            yield self.found(
                place,
                f"{name!r} is declared as {left}, but computed as {right}",
                expected=right,
                found=left,
                fix="correct the declaration, or insert a Cast",
            )


def _agree(declared: ValueType, computed: ValueType) -> bool:
    """Return whether both types are tensors and have the same element type.

    A declared tensor without an element type agrees with every computed tensor. The result is False
    for sequences and optionals, even if they are equal.
    """
    if not isinstance(declared, TensorType) or not isinstance(computed, TensorType):
        return False
    return declared.element in (computed.element, ElementType.DYNAMIC)


def _with_optional(type: ValueType) -> str:
    """Describe a type without its shapes, as "f32" or "optional f32"; empty if it is unknown."""
    if not isinstance(type, OptionalType):
        return kind_of(type)
    item = kind_of(type.item)
    return f"optional {item}" if item else ""
