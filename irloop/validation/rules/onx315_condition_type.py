"""ONX315: a Loop body returns a condition that is not boolean."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_bodies import kind_of
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class ConditionType(
    OnnxRule,
    code="ONX315",
    severity=Severity.WARNING,
    title="a Loop body returns a condition that is not boolean",
    requires=("ONX201", "ONX207"),
):
    """The first output of a Loop body, its condition, has a type other than bool.

    What it does:
        Infers the element type of the first output of each Loop body.
    Why is this bad:
        The specification demands a boolean. onnx.checker does not check it; ONNX Runtime loads the
        model and fails when it runs it ("Tensor type mismatch").
    Bad example:
        a body whose first output is Sub(limit, i), an int64
    Good example:
        a body whose first output is Less(i, limit)
    Fix:
        Insert a Cast to bool.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Loop whose body returns a condition that is not boolean."""
        for node, body in context.loops():
            kind = kind_of(context.result_types(body)[0])
            if kind not in ("", "boolean"):
                yield self.found(
                    at_node(node),
                    f"the body of Loop {node.label!r} returns the condition {body.outputs[0]!r}, "
                    "which is not boolean",
                    expected="boolean",
                    found=kind,
                    fix="insert a Cast to bool",
                )
