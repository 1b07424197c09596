"""IRL511: two inputs are mapped to one Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_entry
from irloop.formats.openvino.port_map_reader import Entry
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class ParameterFedTwice(
    Rule,
    code="IRL511",
    severity=Severity.ERROR,
    title="two inputs are mapped to one Parameter",
    requires=("IRL104",),
):
    """Two input entries of a port map name the same body Parameter.

    What it does:
        Compares the `internal_layer_id` of the connected input entries of one port map.
    Why is this bad:
        A Parameter has one value. OpenVINO 2026.4 silently accepts it and uses one of the two
        values; the Parameter that lost its input reads garbage.
    Bad example:
        <input external_port_id="2" internal_layer_id="0"/>
        <input external_port_id="3" internal_layer_id="0"/>
    Good example:
        <input external_port_id="2" internal_layer_id="0"/>
        <input external_port_id="3" internal_layer_id="1"/>
    Fix:
        Name the Parameter that should receive the second input.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each input entry that maps a second input to the same Parameter.

        For example, if one entry maps input 2 to Parameter 0, and a later entry maps input 3 to it,
        the later entry is reported. An entry that maps input 2 to it again is not.
        """
        for wiring in context.wirings_with_body:
            first: dict[str, Entry] = {}
            for entry in wiring.inputs:
                inner = entry.inner
                if inner is None or inner.id is None or entry.external == -1:
                    continue
                other = first.setdefault(inner.id, entry)
                if other is entry or other.external == entry.external:
                    continue
                yield self.from_problem(problems.parameter_fed_twice(wiring, entry, other))

    def repairs(self, context: Context) -> Iterator[Repair]:
        """If two entries name one Parameter, let the later entry name the unused Parameter.

        There is a repair only if exactly one Parameter of the body is named by no entry.
        """
        for wiring in context.wirings_with_body:
            body = wiring.body
            if body is None or wiring.section is None:
                continue
            named = {item.entry.attributes.get("internal_layer_id") for item in wiring.inputs}
            free = [item for item in body.parameters if item.id not in named]
            first: dict[str, Entry] = {}
            for entry in wiring.inputs:
                inner = entry.inner
                if inner is None or inner.id is None or entry.external == -1:
                    continue
                other = first.setdefault(inner.id, entry)
                if other is entry or len(free) != 1 or free[0].id is None:
                    continue
                place = at_entry(wiring.owner, wiring.section, entry.entry)
                edit = SetAttribute(place.element, "internal_layer_id", free[0].id)
                yield self.repair(
                    place,
                    f"the entry feeds {free[0].name!r}, which nothing feeds",
                    edit,
                    effect="assumes that this Parameter is meant",
                )
