"""IRL503: port map names an input that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.places import at_entry, describe
from irloop.validation.rule import Rule


class InputNoPort(
    Rule,
    code="IRL503",
    severity=Severity.ERROR,
    title="port map names an input that does not exist",
    requires=("IRL104", "IRL520"),
):
    """An input entry of a port map names an external port that the layer does not have.

    What it does:
        Compares `external_port_id` of each input entry with the input ports of the layer. -1
        stands for "not connected" and is allowed.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 use the number as an index and stop with a bare exception
        ("vector::_M_range_check").
    Bad example:
        <input external_port_id="5" internal_layer_id="0"/> in a layer with 3 inputs
    Good example:
        <input external_port_id="2" internal_layer_id="0"/>
    Fix:
        Name an input port of the layer.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding an entry."""
        for wiring in context.wirings_with_body:
            for entry in wiring.inputs:
                if entry.external is None or entry.external == -1 or entry.position is not None:
                    continue
                assert wiring.section is not None
                ports = ", ".join(str(port.id) for port in wiring.owner.inputs)
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"{describe(wiring.owner)} has no input {entry.external}",
                    expected=f"one of its inputs: {ports or 'none'}",
                    found=f'external_port_id="{entry.external}"',
                    fix="name an input port of the layer",
                )
