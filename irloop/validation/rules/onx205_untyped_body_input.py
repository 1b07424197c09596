"""ONX205: body input without a type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.types import ElementType, TensorType
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class UntypedBodyInput(
    OnnxRule,
    code="ONX205",
    severity=Severity.WARNING,
    title="body input without a type",
):
    """An input of a Loop body has no element type.

    What it does:
        Checks the declared types of the inputs of each Loop body. (Engines infer those of a Scan
        body.)
    Why is this bad:
        ONNX Runtime refuses the model ("does not have type information") if the input is the
        condition, and the Loop has no initial condition. It takes other types from outside of the
        body, as OpenVINO does, and the finding is a note; onnx.checker refuses them all. The
        exporter of onnxscript declares no types of states.
    Bad example:
        Loop (n, "", x) with a body whose inputs are names only
    Good example:
        Loop (n, "", x) with a body whose inputs are declared int64, bool, float
    Fix:
        Declare the element type of each body input.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each Loop body input without a declared element type."""
        for node in context.nodes("Loop"):
            unconditional = len(node.inputs) < 2 or not node.inputs[1]
            for body in node.bodies.values():
                for position, name in enumerate(body.inputs):
                    known = body.types.get(name)
                    typed = not isinstance(known, TensorType) or (
                        known.element is not ElementType.DYNAMIC
                    )
                    if typed and name not in body.untyped:
                        continue
                    finding = self.found(
                        at_graph(body),
                        f"the body input {name!r} has no element type",
                        expected="an element type",
                        found="none",
                        fix="declare the element type",
                    )
                    is_refused = unconditional and position == 1
                    yield finding if is_refused else replace(finding, severity=Severity.INFO)
