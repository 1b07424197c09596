"""IRL504: port map names an output that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_entry, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class OutputNoPort(
    Rule,
    code="IRL504",
    severity=Severity.ERROR,
    title="port map names an output that does not exist",
    requires=("IRL104",),
):
    """An output entry of a port map names an external port that the layer does not have.

    What it does:
        Compares `external_port_id` of each output entry with the output ports of the layer. -1
        means "no output" and is allowed.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 only sort the numbers: the k-th smallest becomes output k. A
        wrong number is silently accepted and may swap outputs.
    Bad example:
        <output external_port_id="100" internal_layer_id="9"/> in a layer with output port 3
    Good example:
        <output external_port_id="3" internal_layer_id="9"/>
    Fix:
        Name an output port of the layer.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output entry whose `external_port_id` names no output port."""
        for wiring in context.wirings_with_body:
            for entry in wiring.outputs:
                if entry.external in (None, -1) or wiring.names_output(entry):
                    continue
                assert wiring.section is not None
                ports = ", ".join(str(port.id) for port in wiring.owner.outputs)
                yield self.found(
                    at_entry(wiring.owner, wiring.section, entry.entry),
                    f"{describe(wiring.owner)} has no output port {entry.external}",
                    expected=f"one of its output ports: {ports or 'none'}",
                    found=f'external_port_id="{entry.external}"',
                    cause="OpenVINO sorts these numbers, so outputs may be exchanged",
                    fix="name an output port of the layer",
                )
