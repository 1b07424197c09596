"""ONX307: state changes its element type."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node, element_of
from irloop.validation.rule import FILE, OnnxRule


class StateType(
    OnnxRule,
    code="ONX307",
    severity=Severity.ERROR,
    title="state changes its element type",
    requires=("ONX101", "ONX209"),
    scope=FILE,
):
    """A state of a Loop or Scan leaves the body with a different element type than it entered with.

    What it does:
        Compares the declared types of the initial value and of the body input of each state with
        the type that the body computes.
    Why is this bad:
        The specification demands the same type. onnx.checker, ONNX Runtime and OpenVINO refuse
        the model.
    Bad example:
        a body input float whose next value is int64
    Good example:
        a Cast back to float before the output
    Fix:
        Insert a Cast.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each state of a Loop or Scan that changes its element type.

        The element type of the body input is compared with those of the initial and the next value.
        """
        for node in context.nodes("Loop", "Scan"):
            body = node.bodies.get("body")
            if body is None:
                continue
            first = 1 if node.type == "Loop" else 0
            results = context.result_types(body)[first:]
            for index, (name, before, _) in enumerate(context.states(node, body)):
                entered = element_of(body.type_of(before))
                left = element_of(results[index])
                start = element_of(node.graph.type_of(name)) if name else None
                wrong = next((t for t in (left, start) if t not in (None, entered)), None)
                if entered is None or wrong is None:
                    continue
                yield self.found(
                    at_node(node),
                    f"the state {before!r} of {node.type} {node.label!r} changes its element type",
                    expected=str(entered),
                    found=str(wrong),
                    fix="insert a Cast",
                )
