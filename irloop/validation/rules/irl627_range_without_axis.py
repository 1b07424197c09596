"""IRL627: range attributes without an axis."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class RangeWithoutAxis(
    Rule,
    code="IRL627",
    severity=Severity.WARNING,
    title="range attributes without an axis",
):
    """An entry has `start`, `end`, `stride` or `part_size` but no `axis`.

    What it does:
        Looks for these attributes on entries of TensorIterators and Loops without `axis`.
    Why is this bad:
        Only `axis` makes an entry sliced or concatenated: without it OpenVINO silently ignores the
        other attributes. The input is not sliced, the output not concatenated.
    Bad example:
        <input external_port_id="0" internal_layer_id="0" start="0" end="-1"/>
    Good example:
        <input external_port_id="0" internal_layer_id="0" axis="0" start="0" end="-1"/>
    Fix:
        Add the axis, or remove the other range attributes.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per loop entry that has start, end, stride or part_size, but no axis."""
        for wiring in context.loops:
            for entry in (*wiring.inputs, *wiring.outputs):
                names = [name for name in _RANGE if name in entry.entry.attributes]
                if entry.has_axis or not names:
                    continue
                assert wiring.section is not None
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"{', '.join(names)} without axis",
                    expected="an axis, or none of these attributes",
                    found=", ".join(names),
                    fix="add the axis, or remove these attributes",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Remove the attributes that have no effect without an axis."""
        for wiring in context.loops:
            for entry in (*wiring.inputs, *wiring.outputs):
                names = [name for name in _RANGE if name in entry.entry.attributes]
                if entry.has_axis or not names:
                    continue
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                edits = [SetAttribute(place.element, name, None) for name in names]
                message = f"{', '.join(names)}, which have no effect without axis, are removed"
                yield self.repair(place, message, *edits)


_RANGE = ("start", "end", "stride", "part_size")
