"""IRL608: loop that cannot end."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InfiniteLoop(
    Rule,
    code="IRL608",
    severity=Severity.WARNING,
    title="loop that cannot end",
):
    """A Loop has no trip count, and its condition is constant true.

    What it does:
        Reads the constants that feed the trip count, the initial condition and the execution
        condition; a condition that the body returns unchanged counts as constant.
    Why is this bad:
        OpenVINO and ONNX Runtime never finish.
    Bad example:
        a trip count of -1 and a condition Result fed by a constant true
    Good example:
        a trip count of 10, or a condition that the body computes
    Fix:
        Give a trip count, or compute the condition from the state.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per Loop with a constant trip count of -1 and an always true condition.

        Loops whose condition is not known to be true in every iteration are not reported.
        """
        for wiring in context.loops:
            if context.trip_count(wiring) != -1:
                continue
            if not (context.condition_is(wiring, True) and context.stays_true(wiring)):
                continue
            yield self.found(
                at_layer(wiring.owner),
                f"{describe(wiring.owner)} never ends",
                expected="a trip count, or a condition that can become false",
                found="trip count -1 and a condition that is constant true",
                fix="give a trip count, or compute the condition from the state",
            )
