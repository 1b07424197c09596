"""IRL518: back edge to a sliced Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.edits import RemoveElement
from irloop.formats.openvino.places import at_back_edge, describe
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class BackEdgeToSliced(
    Rule,
    code="IRL518",
    severity=Severity.WARNING,
    title="back edge to a sliced Parameter",
    requires=("IRL104",),
):
    """A back edge ends in a Parameter that receives slices of an input.

    What it does:
        Looks for back edges to Parameters whose input entry has an `axis`.
    Why is this bad:
        The axis takes precedence: OpenVINO 2026.4 and 2021.4 silently ignore the back edge.
    Bad example:
        <input external_port_id="0" internal_layer_id="0" axis="1"/> and
        <edge from-layer="3" to-layer="0"/>
    Good example:
        the slices in one Parameter, the state in another
    Fix:
        Remove the axis if the Parameter is a state, or the back edge if it is a slice.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per back edge if its Parameter receives slices of an input."""
        for wiring in context.loops:
            for edge, _, target in wiring.back_edges:
                entry = None if target is None else wiring.entry_of.get(target.id or "")
                if target is None or entry is None or not entry.has_axis:
                    continue
                yield self.found(
                    at_back_edge(wiring.owner, edge),
                    f"back edge to {describe(target)}, which receives slices",
                    expected="either an axis or a back edge",
                    found=f"both (the axis is in line {entry.entry.line})",
                    fix="remove the axis if the Parameter is a state, or the back edge if it is "
                    "sliced",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Remove the back edge, because OpenVINO ignores it."""
        for wiring in context.loops:
            for edge, _, target in wiring.back_edges:
                entry = None if target is None else wiring.entry_of.get(target.id or "")
                if entry is None or not entry.has_axis:
                    continue
                place = at_back_edge(wiring.owner, edge)
                message = "the back edge is removed, because a sliced input has none"
                yield self.repair(place, message, RemoveElement(place.element))
