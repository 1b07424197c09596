"""IRL609: loop that never runs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ZeroIterations(
    Rule,
    code="IRL609",
    severity=Severity.WARNING,
    title="loop that never runs",
    requires=("IRL606",),
):
    """The trip count of a Loop is a constant 0, or its initial condition is constant false.

    What it does:
        Reads the constants that feed inputs 0 and 1 of each Loop.
    Why is this bad:
        By the specification the loop returns the initial values of its states, and empty
        concatenated outputs. OpenVINO 2026.4 crashed (SIGFPE) in larger models with a concatenated
        output and a trip count of 0, and loses the states if the condition is constant false;
        2021.4 returns zeros.
    Bad example:
        a trip count of 0
    Good example:
        a trip count that is an input of the model, where 0 works
    Fix:
        Replace the loop by its initial values, or correct the constant.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each Loop whose trip count or initial condition is a constant 0 or false."""
        for wiring in context.loops:
            zero = context.trip_count(wiring) == 0
            if not zero and not context.condition_is(wiring, False):
                continue
            crash = zero and bool(wiring.concatenated)
            yield self.found(
                at_port(wiring.owner, wiring.owner.inputs[0 if zero else 1]),
                f"{describe(wiring.owner)} never runs its body",
                expected="at least one iteration",
                found="trip count 0" if zero else "an initial condition that is constant false",
                cause="OpenVINO 2026.4 may crash when it compiles this (SIGFPE, fault OVN106)"
                if crash
                else "engines disagree about the outputs of such a loop",
                fix="replace the loop by its initial values, or correct the constant",
            )
