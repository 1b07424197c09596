"""IRL505: input is mapped twice."""

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


class InputMappedTwice(
    Rule,
    code="IRL505",
    severity=Severity.ERROR,
    title="input is mapped twice",
    requires=("IRL104",),
):
    """Two entries of a port map name the same input of the layer.

    What it does:
        Compares the `external_port_id` of the input entries of one port map.
    Why is this bad:
        If the entries name two Parameters, both receive the input, and irloop reads the file so;
        this is a warning. Of two entries with the same number OpenVINO keeps the first. A
        TensorIterator is then refused; a Loop silently loses the second mapping if the number of
        remaining entries is valid.
    Bad example:
        <input external_port_id="2" internal_layer_id="0"/>
        <input external_port_id="2" internal_layer_id="1"/>
    Good example:
        <input external_port_id="2" internal_layer_id="0"/>
        <input external_port_id="3" internal_layer_id="1"/>
    Fix:
        Give the layer a second input port with the same source, and map that port.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each port map entry whose input an earlier entry maps, too."""
        for wiring in context.wirings_with_body:
            for entry, first in mapped_again(wiring.inputs):
                yield self.from_problem(problems.mapped_twice(wiring, entry, first))

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Remove each entry that repeats an earlier entry; other entries of the same input stay."""
        for wiring in context.wirings_with_body:
            for entry, first in mapped_again(wiring.inputs):
                if dict(entry.entry.attributes) != dict(first.entry.attributes):
                    continue
                assert wiring.section is not None
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                edit = RemoveElement(place.element)
                yield self.repair(place, "the entry occurs twice; the second is removed", edit)
