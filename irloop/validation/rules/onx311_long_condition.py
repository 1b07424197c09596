"""ONX311: condition or trip count has several elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineGraph, OutlineNode
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import OnnxRule


class LongCondition(
    OnnxRule,
    code="ONX311",
    severity=Severity.ERROR,
    title="condition or trip count has several elements",
):
    """The condition of a Loop or If, or a trip count, is declared with another size than one.

    What it does:
        Looks at the declared shapes of M and cond of a Loop, of the condition that its body gives,
        and of that of an If.
    Why is this bad:
        The specification wants one element. ONNX Runtime and OpenVINO refuse the model.
    Bad example:
        cond declared bool[2]
    Good example:
        cond declared bool (a scalar)
    Fix:
        Reduce it to one element.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding a value."""
        for node in context.nodes("Loop", "If"):
            names = node.inputs[:2] if node.type == "Loop" else node.inputs[:1]
            places = [(node.graph, name) for name in names if name]
            body = node.bodies.get("body")
            if node.type == "Loop" and body is not None and body.outputs:
                places.append((body, body.outputs[0]))
            for graph, name in places:
                yield from self._size(node, graph, name)

    def _size(self, node: OutlineNode, graph: OutlineGraph, name: str) -> Iterator[Diagnostic]:
        shape = shape_of(graph.type_of(name))
        count = None if shape is None else shape.count()
        if count not in (None, 1):
            yield self.found(
                at_node(node),
                f"{name!r} of {node.type} {node.label!r} has {count} elements",
                expected="one element",
                found=str(shape),
                fix="reduce it to one element",
            )
