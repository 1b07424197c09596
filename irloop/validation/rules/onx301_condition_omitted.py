"""ONX301: condition is left out, but the body computes one."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class ConditionOmitted(
    OnnxRule,
    code="ONX301",
    severity=Severity.WARNING,
    title="condition is left out, but the body computes one",
):
    """A Loop omits `cond`, and its body may return false as the next condition.

    What it does:
        Checks Loops without the second input, and reports those with a body condition that is
        neither constant true nor returned unchanged.
    Why is this bad:
        According to the table in the specification, the condition of the body is then ignored. ONNX
        Runtime and OpenVINO honour it and may stop earlier; onnx.reference runs no iteration at
        all.
    Bad example:
        Loop(M, '') whose body returns cond_out = Less(i, 3)
    Good example:
        Loop(M, true) with the same body, or a body that returns a constant true
    Fix:
        Pass a constant true as cond if the condition should end the loop; otherwise return a
        constant true from the body.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Loop that omits cond although its body may return a false condition."""
        for node, body in context.loops():
            omitted = len(node.inputs) < 2 or not node.inputs[1]
            if omitted and not context.stays_true(body):
                yield self.found(
                    at_node(node),
                    f"Loop {node.label!r} omits cond, but its body may return a false condition",
                    expected="a constant true as cond, or as the condition that the body returns",
                    found=f"the condition {body.outputs[0]!r}",
                    cause="the specification says that the condition of the body is then ignored, "
                    "but ONNX Runtime and OpenVINO obey it, and so does irloop",
                    fix="pass cond, or return a constant true from the body",
                )
