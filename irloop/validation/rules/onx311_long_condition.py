"""ONX311: condition or trip count has several elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineNode
from irloop.graph.types import Shape
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import OnnxRule


class LongCondition(
    OnnxRule,
    code="ONX311",
    severity=Severity.ERROR,
    title="condition or trip count has several elements",
):
    """The condition of a Loop or If, or a trip count, is declared with more than one element.

    What it does:
        Checks the declared shapes of M and cond of a Loop, and of the condition of an If.
    Why is this bad:
        The specification demands one element. ONNX Runtime and OpenVINO refuse the model.
    Bad example:
        cond declared bool[2]
    Good example:
        cond declared bool (a scalar)
    Fix:
        Reduce it to one element.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per trip count or condition that is not declared with one element.

        The conditions are those of Loops and Ifs.
        """
        for node in context.nodes("Loop", "If"):
            names = node.inputs[:2] if node.type == "Loop" else node.inputs[:1]
            for name in filter(None, names):
                yield from self._size(node, name, shape_of(node.graph.type_of(name)))

    def _size(self, node: OutlineNode, name: str, shape: Shape | None) -> Iterator[Diagnostic]:
        count = None if shape is None else shape.count()
        if count not in (None, 1):
            yield self.found(
                at_node(node),
                f"{name!r} of {node.type} {node.label!r} has {count} elements",
                expected="one element",
                found=str(shape),
                fix="reduce it to one element",
            )
