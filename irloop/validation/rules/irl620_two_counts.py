"""IRL620: range for which OpenVINO computes two different trip counts."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.validation import loop_ranges
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class TwoCounts(
    Rule,
    code="IRL620",
    severity=Severity.WARNING,
    title="range that OpenVINO counts in two ways",
    requires=("IRL104",),
):
    """OpenVINO counts the iterations of a range in two ways, with different results.

    What it does:
        Looks for ranges of TensorIterators for which OpenVINO's shape inference and its CPU plugin
        may compute different trip counts. They always agree on a forward range with start >= 0 and
        end < 0, and on a backward range with start < 0 and end >= 0; a slice must have one of these
        two forms. Only valid ranges are checked.
    Why is this bad:
        The size of a concatenated output then differs from the trip count of the loop, and OpenVINO
        2026.4 fails when it compiles the model. Without a concatenated output, the loop runs with
        the trip count of the CPU plugin. irloop always uses that trip count.
    Bad example:
        start="1" end="4" over 5 elements: 3 iterations, or 4
    Good example:
        start="1" end="-2" over 5 elements: 3 iterations
    Fix:
        Write the end as a negative number (backward: the start), or slice outside.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each port map entry that OpenVINO may count in two ways.

        OpenVINO's shape inference and its CPU plugin may then compute different trip counts. The
        rule checks the sliced inputs of each TensorIterator; if there are none, it checks the
        concatenated outputs.
        """
        for wiring in context.loops:
            if not wiring.is_iterator:
                continue
            for entry in wiring.sliced:
                if not self._is_valid(context, wiring, entry):
                    continue
                if not loop_ranges.has_agreeing_form(entry):
                    yield self._differ(wiring, entry)
            for entry in wiring.concatenated if not wiring.sliced else ():
                if not loop_ranges.is_sound(entry) or loop_ranges.has_wrong_direction(entry):
                    continue
                count = loop_ranges.inferred_output(entry)
                run = loop_ranges.executed(entry, count * entry.part_size)
                if run is not None and run != count:
                    yield self._differ(wiring, entry)

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Rewrite slice ranges so that OpenVINO computes only one trip count for each.

        A forward range gets a negative end, a backward range a negative start. OpenVINO's shape
        inference and its CPU plugin then agree. The slices stay the same.
        """
        for wiring in context.loops:
            for entry in wiring.sliced if wiring.is_iterator else ():
                size = loop_ranges.axis_size(context, wiring, entry)
                if not size or not self._is_valid(context, wiring, entry):
                    continue
                if loop_ranges.has_agreeing_form(entry):
                    continue
                low, high = loop_ranges.bounds(entry, size)
                ends = (high - size - 1, low) if entry.reverse else (low, high - size - 1)
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                start, end = map(str, ends)
                edits = (
                    SetAttribute(place.element, "start", start),
                    SetAttribute(place.element, "end", end),
                )
                yield self.repair(place, f'start="{start}" end="{end}", the same range', *edits)

    @staticmethod
    def _is_valid(context: Context, wiring: Wiring, entry: Entry) -> bool:
        if not loop_ranges.is_sound(entry) or loop_ranges.has_wrong_direction(entry):
            return False
        size = loop_ranges.axis_size(context, wiring, entry)
        return size is None or loop_ranges.executed(entry, size) is not None

    def _differ(self, wiring: Wiring, entry: Entry) -> Diagnostic:
        assert wiring.section is not None
        wanted = (
            "a negative start and a non-negative end"
            if entry.reverse
            else ("a non-negative start and a negative end")
        )
        return self.found(
            at_entry(wiring.owner, wiring.section, entry.entry),
            "OpenVINO counts the iterations of this range in two ways that differ",
            expected=wanted,
            found=f'start="{entry.start}" end="{entry.end}" stride="{entry.stride}"',
            fix="write start and end in that form, or slice the tensor before the loop",
        )
