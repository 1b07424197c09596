"""IRL619: slices cover only a part of the axis."""

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
from irloop.validation.slice_before import slice_before


class PartialRange(
    Rule,
    code="IRL619",
    severity=Severity.WARNING,
    title="slices cover only a part of the axis",
    requires=("IRL104",),
):
    """A sliced input does not cover its whole axis.

    What it does:
        Looks for sliced inputs whose range is not 0 to -1 (backward: -1 to 0).
    Why is this bad:
        By the specification the slices lie inside the range. The CPU plugins of OpenVINO 2026.4
        and 2021.4 use the range only to count the iterations and always begin at the end of the
        axis, so they silently read other elements. A Loop ignores start and end.
    Bad example:
        axis="1" start="1" end="-1" stride="1" part_size="1"
    Good example:
        a StridedSlice outside, then axis="1" start="0" end="-1" stride="1" part_size="1"
    Fix:
        Slice the tensor outside and let the loop cover all of it. `irloop validate --fix
        --unsafe-fixes` does so if the size of the axis is known.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced input entry whose range does not cover the whole axis."""
        for wiring, entry in _partial(context):
            assert wiring.section is not None
            yield self.found(
                at_entry(wiring.owner, wiring.section, entry.entry),
                f"input {entry.position} is sliced only in part",
                expected='start="-1" end="0"' if entry.reverse else 'start="0" end="-1"',
                found=f'start="{entry.start}" end="{entry.end}"',
                cause="OpenVINO counts the iterations from the range, but starts to read at an "
                "end of the axis",
                fix="slice the tensor before the loop, and let the loop cover the whole axis",
            )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Extend the range of an entry to the whole axis.

        For a TensorIterator, also insert a StridedSlice before the loop, which cuts out the old
        range. A Loop needs none, because it ignores its range.
        """
        for wiring, entry in _partial(context):
            assert wiring.section is not None
            place = at_entry(wiring.owner, wiring.section, entry.entry)
            start, end = ("-1", "0") if entry.reverse else ("0", "-1")
            if not wiring.is_iterator:
                edits = (
                    SetAttribute(place.element, "start", start),
                    SetAttribute(place.element, "end", end),
                )
                yield self.repair(place, f'start="{start}" end="{end}"', *edits)
                continue
            sliced = slice_before(context, wiring, entry)
            if sliced is None:
                continue
            own, weights = sliced
            yield self.repair(
                place,
                f'a StridedSlice before the loop, then start="{start}" end="{end}"',
                *own,
                effect=_effect(context, wiring, entry, len(weights)),
                weights=weights,
            )


def _effect(context: Context, wiring: Wiring, entry: Entry, added: int) -> str:
    """Describe the effect of the repair: whether results change, and how much the .bin grows.

    OpenVINO ignores where the range begins, and slices from one end of the axis. After the repair
    it reads the slices of the range, so the results change unless the range begins at that end. The
    .bin grows by `added` bytes.
    """
    size = loop_ranges.axis_size(context, wiring, entry)
    assert size is not None
    low, high = loop_ranges.bounds(entry, size)
    starts_at_end = high == size if entry.reverse else low == 0
    words = "" if starts_at_end else "OpenVINO read other elements, so its results change; "
    return f"{words}{added} bytes are appended to the .bin"


def _partial(context: Context) -> Iterator[tuple[Wiring, Entry]]:
    """The sliced inputs whose range is valid and does not cover the axis."""
    for wiring in context.loops:
        for entry in wiring.sliced:
            if not loop_ranges.is_sound(entry) or loop_ranges.has_wrong_direction(entry):
                continue
            size = loop_ranges.axis_size(context, wiring, entry)
            if loop_ranges.is_full(entry, size):
                continue
            if wiring.is_iterator and not _counts(entry, size):
                continue  # IRL618 and IRL620 report this entry
            yield wiring, entry


def _counts(entry: Entry, size: int | None) -> bool:
    if not loop_ranges.has_agreeing_form(entry):
        return False
    return size is None or loop_ranges.executed(entry, size) is not None
