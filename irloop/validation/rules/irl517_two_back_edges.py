"""IRL517: two back edges to one Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import BackEdge
from irloop.formats.openvino.edits import RemoveElement
from irloop.formats.openvino.places import at_back_edge, describe
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class TwoBackEdges(
    Rule,
    code="IRL517",
    severity=Severity.ERROR,
    title="two back edges to one Parameter",
    requires=("IRL104",),
):
    """Two back edges end in the same Parameter.

    What it does:
        Compares `to-layer` of the back edges of one layer.
    Why is this bad:
        A state has one next value. OpenVINO 2026.4 uses the first edge and ignores the others
        without a word.
    Bad example:
        <edge from-layer="3" to-layer="0"/> <edge from-layer="4" to-layer="0"/>
    Good example:
        <edge from-layer="3" to-layer="0"/> <edge from-layer="4" to-layer="1"/>
    Fix:
        Remove one of them, or let it end in the intended Parameter.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per back edge to a Parameter that already has a back edge."""
        for wiring in context.loops:
            first: dict[str, BackEdge] = {}
            for edge, _, target in wiring.back_edges:
                if edge.to_layer is None or target is None or target.type != "Parameter":
                    continue
                other = first.setdefault(edge.to_layer, edge)
                if other is edge:
                    continue
                yield self.found(
                    at_back_edge(wiring.owner, edge),
                    f"{describe(target)} already has a back edge",
                    expected="one back edge for each state",
                    found=f"from layers {other.from_layer} (line {other.line}) "
                    f"and {edge.from_layer}",
                    fix="remove one, or correct the Parameter that it ends in",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Remove all back edges to a Parameter except the first; OpenVINO ignores the others."""
        for wiring in context.loops:
            first: dict[str, BackEdge] = {}
            for edge, _, target in wiring.back_edges:
                if edge.to_layer is None or target is None or target.type != "Parameter":
                    continue
                if first.setdefault(edge.to_layer, edge) is edge:
                    continue
                place = at_back_edge(wiring.owner, edge)
                message = "only the first back edge to a Parameter counts; this one is removed"
                yield self.repair(place, message, RemoveElement(place.element))
