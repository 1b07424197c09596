"""IRL616: stride is 0."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class StrideZero(
    Rule, code="IRL616", severity=Severity.ERROR, title="stride is 0", requires=("IRL104",)
):
    """`stride` is 0.

    What it does:
        Checks `stride` of each sliced input and concatenated output.
    Why is this bad:
        The slices would never advance. OpenVINO 2026.4 fails when it compiles the model.
    Bad example:
        axis="0" stride="0" part_size="1"
    Good example:
        axis="0" stride="1" part_size="1"
    Fix:
        Write 1 to go forward, -1 to go backward, or plus or minus part_size.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced or concatenated entry whose stride is 0."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if entry.stride != 0:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    "stride is 0",
                    expected=f"{entry.part_size} or {-entry.part_size}",
                    found="0",
                    fix="write part_size, with a minus sign to go backward",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Set the stride to part_size, so that each slice begins where the previous slice ends."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if entry.stride != 0 or entry.part_size < 1:
                    continue
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                edit = SetAttribute(place.element, "stride", str(entry.part_size))
                yield self.repair(
                    place,
                    f'stride="{entry.part_size}"',
                    edit,
                    effect="assumes that each slice begins where the previous one ends, going "
                    "forward",
                )
