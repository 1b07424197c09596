"""IRL618: range is empty, outside the axis or not divisible."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry
from irloop.validation import loop_ranges
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InvalidRange(
    Rule,
    code="IRL618",
    severity=Severity.ERROR,
    title="range is empty, outside the axis or not divisible",
    requires=("IRL104",),
):
    """The range of a TensorIterator entry cannot be divided into parts.

    What it does:
        Interprets `start` and `end` as OpenVINO does (-1 is the end of the axis, -2 one before) and
        checks that the range is not empty, lies inside the axis and is a multiple of the stride.
    Why is this bad:
        OpenVINO 2026.4 fails when it compiles the model ("Each iteration must be the same size")
        or, if the size is dynamic, when it runs the model.
    Bad example:
        start="3" end="3"; or stride="2" part_size="2" over 5 elements
    Good example:
        start="0" end="-1" stride="2" part_size="2" over 6 elements
    Fix:
        Correct the range; slice or pad outside when the size does not fit.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per TensorIterator entry whose range cannot be cut into parts.

        Such a range is empty, leaves the axis, or is not a multiple of the stride.
        """
        for wiring in context.loops:
            if not wiring.is_iterator:
                continue
            for entry in (*wiring.sliced, *wiring.concatenated):
                if not loop_ranges.is_sound(entry) or loop_ranges.has_wrong_direction(entry):
                    continue
                if entry.entry.kind == "input":
                    size = loop_ranges.axis_size(context, wiring, entry)
                else:
                    size = loop_ranges.output_size(context, wiring, entry)
                if not size or loop_ranges.executed(entry, size) is not None:
                    continue
                low, high = loop_ranges.bounds(entry, size)
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"the range {low} to {high} of {size} elements cannot be cut into parts of "
                    f"{abs(entry.stride)}",
                    expected=f"a range inside 0 to {size} whose length is a multiple of "
                    f"{abs(entry.stride)}",
                    found=f'start="{entry.start}" end="{entry.end}" stride="{entry.stride}"',
                    fix="correct the range; slice or pad the tensor outside the loop if its size "
                    "is not a multiple of the stride",
                )
