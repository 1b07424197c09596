"""IRL623: axis counts from the end."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.validation.context import Context
from irloop.validation.declared import UNKNOWN
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class NegativeAxis(
    Rule,
    code="IRL623",
    severity=Severity.WARNING,
    title="axis counts from the end",
    requires=("IRL104",),
):
    """The `axis` of an entry is negative, and so counts from the end.

    What it does:
        Checks the sign of `axis` of each sliced input and concatenated output.
    Why is this bad:
        TensorIterator-1 and Loop-5 allow any integer, and irloop reads it. OpenVINO 2026.4 and
        2021.4 refuse the file when an input has it ("not an unsigned 64 bit integer"); on an
        output they read it, and the CPU plugin fails.
    Bad example:
        axis="-1"
    Good example:
        axis="1" for a tensor of rank 2
    Fix:
        Count the axis from 0.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per sliced or concatenated entry whose axis is negative."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if entry.axis is None or entry.axis >= 0:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    "the axis counts from the end, which OpenVINO does not support",
                    expected="an axis counted from 0",
                    found=f'axis="{entry.axis}"',
                    fix="add the rank of the tensor",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Make the axis non-negative if the rank is known."""
        for wiring in context.loops:
            for entry in (*wiring.sliced, *wiring.concatenated):
                if entry.axis is None or entry.axis >= 0:
                    continue
                declared = context.external(wiring, entry.position)
                if entry.entry.kind == "output":
                    inner = entry.inner
                    declared = UNKNOWN if inner is None else context.result(wiring, inner)
                rank = declared.rank
                if not rank or entry.axis < -rank:
                    continue
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                axis = str(entry.axis + rank)
                edit = SetAttribute(place.element, "axis", axis)
                yield self.repair(place, f'axis="{axis}" instead of "{entry.axis}"', edit)
