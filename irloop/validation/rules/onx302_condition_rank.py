"""ONX302: condition is not a scalar."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineGraph, OutlineNode
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import OnnxRule


class ConditionRank(
    OnnxRule,
    code="ONX302",
    severity=Severity.WARNING,
    title="condition is not a scalar",
):
    """The condition of a Loop or If has rank 1 or higher.

    What it does:
        Checks the declared rank of `cond` and of the condition that a Loop body returns.
    Why is this bad:
        The specification demands a boolean scalar. ONNX Runtime refuses a condition of rank 1
        where the body declares a scalar; OpenVINO accepts one element.
    Bad example:
        cond declared bool[1]
    Good example:
        cond declared bool (a scalar)
    Fix:
        Squeeze or reshape it to a scalar.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per loop or If condition of rank 1 or more.

        A Loop has two conditions: the one passed to it and the one that its body returns.
        """
        for node in context.nodes("Loop", "If"):
            position = 1 if node.type == "Loop" else 0
            name = node.inputs[position] if len(node.inputs) > position else ""
            if name:
                yield from self._rank(node, node.graph, name)
            body = node.bodies.get("body")
            if node.type == "Loop" and body is not None and body.outputs:
                yield from self._rank(node, body, body.outputs[0])

    def _rank(self, node: OutlineNode, graph: OutlineGraph, name: str) -> Iterator[Diagnostic]:
        shape = shape_of(graph.type_of(name))
        if shape is not None and shape.rank:
            yield self.found(
                at_node(node),
                f"the condition {name!r} of {node.type} {node.label!r} is not a scalar",
                expected="bool of rank 0",
                found=f"rank {shape.rank}: {shape}",
                fix="squeeze it to a scalar",
            )
