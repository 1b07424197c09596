"""IRL617: negative stride over a forward range."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.validation import loop_ranges
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class ReversedStride(
    Rule,
    code="IRL617",
    severity=Severity.ERROR,
    title="negative stride over a forward range",
    requires=("IRL104",),
):
    """A TensorIterator entry has a negative stride but a range that goes forward.

    What it does:
        Looks for stride < 0 with start >= 0 and end < 0, the defaults included.
    Why is this bad:
        A reversed range runs from -1 to 0. OpenVINO 2026.4 fails when it compiles the model
        ("Invalid start/stride/end"). (A Loop ignores start and end.)
    Bad example:
        axis="0" stride="-1" part_size="1"
    Good example:
        axis="0" start="-1" end="0" stride="-1" part_size="1"
    Fix:
        Write start="-1" end="0".
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per TensorIterator entry with a negative stride but a forward range."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if not wiring.is_iterator or not loop_ranges.has_wrong_direction(entry):
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    "the stride goes backward, but the range goes forward",
                    expected='start="-1" end="0"',
                    found=f'start="{entry.start}" end="{entry.end}" stride="{entry.stride}"',
                    fix='write start="-1" end="0"',
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Set start to -1 and end to 0: the slices then run backward over the whole axis."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if not wiring.is_iterator or not loop_ranges.has_wrong_direction(entry):
                    continue
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                edits = (
                    SetAttribute(place.element, "start", "-1"),
                    SetAttribute(place.element, "end", "0"),
                )
                effect = "assumes that the stride is right and the whole axis is meant"
                yield self.repair(place, 'start="-1" end="0"', *edits, effect=effect)
