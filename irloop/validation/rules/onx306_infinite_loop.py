"""ONX306: loop that cannot end."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class InfiniteLoop(
    OnnxRule, code="ONX306", severity=Severity.WARNING, title="loop that cannot end"
):
    """A Loop has no trip count, and its condition stays true.

    What it does:
        Checks Loops without `M` (or with the largest int64) whose initial condition is omitted or
        constant true, and whose body returns a constant true or the unchanged condition.
    Why is this bad:
        No engine ever finishes it.
    Bad example:
        Loop('', true) whose body returns cond_out = Identity(cond_in)
    Good example:
        Loop(M, true) with the same body
    Fix:
        Pass a trip count, or compute the condition in the body.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Loop whose condition stays true and that has no effective trip count.

        The trip count is omitted, or is the largest int64.
        """
        for node, body in context.loops():
            unlimited = not node.inputs or not node.inputs[0]
            unlimited = unlimited or context.trip_count(node) == 2**63 - 1
            if unlimited and context.first_condition(node) and context.stays_true(body):
                yield self.found(
                    at_node(node),
                    f"Loop {node.label!r} never ends",
                    expected="a trip count, or a condition that can become false",
                    found="neither",
                    fix="pass a trip count, or compute the condition in the body",
                )
