"""ONX305: loop that never runs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class ZeroIterations(
    OnnxRule,
    code="ONX305",
    severity=Severity.WARNING,
    title="loop that never runs",
):
    """The trip count of a Loop is a constant 0, or its condition is constant false.

    What it does:
        Reads the constants that feed `M` and `cond`.
    Why is this bad:
        ONNX Runtime returns the initial values and empty scan outputs, as specified. OpenVINO
        2026.4 may crash (SIGFPE) with a constant 0 and a scan output, and loses the states with a
        constant false; onnx.reference raises an exception.
    Bad example:
        M = 0
    Good example:
        M as an input of the model
    Fix:
        Replace the loop by its initial values, or correct the constant.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Report each Loop that never runs its body.

        Its trip count is constant 0, or its initial condition is constant false.
        """
        for node, _ in context.loops():
            zero = context.trip_count(node) == 0
            if zero or context.first_condition(node) is False:
                yield self.found(
                    at_node(node),
                    f"Loop {node.label!r} never runs its body",
                    expected="at least one iteration",
                    found="trip count 0" if zero else "a condition that is constant false",
                    fix="replace the loop by its initial values, or correct the constant",
                )
