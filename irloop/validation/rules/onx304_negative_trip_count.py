"""ONX304: constant trip count is negative."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule


class NegativeTripCount(
    OnnxRule,
    code="ONX304",
    severity=Severity.WARNING,
    title="constant trip count is negative",
):
    """The constant trip count of a Loop is negative.

    What it does:
        Reads the constant that feeds `M`.
    Why is this bad:
        In ONNX a negative trip count means no iteration; in OpenVINO -1 means no limit, which is
        probably what was intended.
    Bad example:
        M = -1
    Good example:
        M left out, with a condition that ends the loop
    Fix:
        Leave M out for no limit.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Loop whose trip count is a negative constant."""
        for node, _ in context.loops():
            trip = context.trip_count(node)
            if trip is not None and trip < 0:
                yield self.found(
                    at_node(node),
                    f"the trip count of Loop {node.label!r} is negative: it never runs",
                    expected="0 or more, or no trip count",
                    found=str(trip),
                    cause="-1 means no limit in OpenVINO, not in ONNX",
                    fix="leave M out for no limit",
                )
