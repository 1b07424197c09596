"""IRL506: output is mapped twice."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.formats.openvino.edits import RemoveElement
from irloop.formats.openvino.places import at_entry
from irloop.formats.openvino.port_map_reader import mapped_again
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class OutputMappedTwice(
    Rule,
    code="IRL506",
    severity=Severity.ERROR,
    title="output is mapped twice",
    requires=("IRL104",),
):
    """Two entries of a port map name the same output of the layer.

    What it does:
        Compares the `external_port_id` of the output entries of one port map.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 keep the first entry and drop the second. If that leaves another
        output without an entry, the file is refused with "node index is out of range".
    Bad example:
        <output external_port_id="3" internal_layer_id="8"/>
        <output external_port_id="3" internal_layer_id="9"/>
    Good example:
        <output external_port_id="3" internal_layer_id="8"/>
        <output external_port_id="4" internal_layer_id="9"/>
    Fix:
        Name another output port, or remove one entry.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each port map entry whose output an earlier entry already maps."""
        for wiring in context.wirings_with_body:
            for entry, first in mapped_again(wiring.outputs):
                yield self.from_problem(problems.mapped_twice(wiring, entry, first))

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Remove an entry if all its attributes equal those of an earlier entry.

        An entry for the same output with other attributes is kept.
        """
        for wiring in context.wirings_with_body:
            for entry, first in mapped_again(wiring.outputs):
                if dict(entry.entry.attributes) != dict(first.entry.attributes):
                    continue
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                edit = RemoveElement(place.element)
                yield self.repair(place, "the entry occurs twice; the second is removed", edit)
