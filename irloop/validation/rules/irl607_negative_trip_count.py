"""IRL607: trip count is below -1."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class NegativeTripCount(
    Rule,
    code="IRL607",
    severity=Severity.ERROR,
    title="trip count is below -1",
    requires=("IRL606",),
):
    """The constant trip count of a Loop is below -1.

    What it does:
        Reads the constant that feeds input 0 of each Loop.
    Why is this bad:
        -1 means "no limit". The specification does not define other negative numbers: OpenVINO
        and irloop take them for no limit, and in ONNX they mean no iterations.
    Bad example:
        a trip count of -2
    Good example:
        a trip count of -1, with a condition that ends the loop
    Fix:
        Write -1 for no limit, or the number of iterations.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per Loop whose trip count is a constant below -1."""
        for wiring in context.loops:
            trip = context.trip_count(wiring)
            if trip is None or trip >= -1:
                continue
            yield self.found(
                at_port(wiring.owner, wiring.owner.inputs[0]),
                f"the trip count of {describe(wiring.owner)} is negative",
                expected="-1 (no limit), 0 or a positive number",
                found=str(trip),
                fix="write -1 for no limit",
            )
