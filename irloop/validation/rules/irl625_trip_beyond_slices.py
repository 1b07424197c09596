"""IRL625: more iterations than slices."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry, describe
from irloop.validation import loop_ranges
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class TripBeyondSlices(
    Rule,
    code="IRL625",
    severity=Severity.ERROR,
    title="more iterations than slices",
    requires=("IRL104", "IRL614", "IRL615", "IRL616", "IRL606"),
):
    """The constant trip count of a Loop is larger than the number of slices of an input.

    What it does:
        Compares the constant that feeds input 0 of a Loop with the size of each sliced axis divided
        by the part size. Loops whose condition may end them earlier are not checked.
    Why is this bad:
        The last iterations have nothing to read. OpenVINO 2026.4 and 2021.4 fail at inference.
    Bad example:
        a trip count of 5 and an input of shape [3,2] sliced on axis 0
    Good example:
        a trip count of 3
    Fix:
        Correct the trip count, or the input.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced input entry with fewer slices than the Loop has iterations.

        Only Loops with a constant trip count and a condition that stays true are checked.
        """
        for wiring in context.loops:
            trip = context.trip_count(wiring)
            if trip is None or trip <= 0 or not wiring.sliced or not context.stays_true(wiring):
                continue
            for entry in wiring.sliced:
                size = loop_ranges.axis_size(context, wiring, entry)
                if size is None or entry.part_size <= 0 or trip * entry.part_size <= size:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"{describe(wiring.owner)} runs {trip} times, but this input has fewer slices",
                    expected=f"at most {size // entry.part_size} iterations",
                    found=f"a trip count of {trip}",
                    fix="correct the trip count or the input",
                )
