"""IRL508: output that is read is not mapped."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class OutputNotMapped(
    Rule,
    code="IRL508",
    severity=Severity.ERROR,
    title="output that is read is not mapped",
    requires=("IRL104", "IRL501", "IRL502", "IRL504", "IRL506"),
):
    """An output of a TensorIterator or Loop that other layers read has no entry in the port map.

    What it does:
        Looks for an entry for each output port that an edge starts from. Outputs that are not read
        need none. (IRL702 checks If.)
    Why is this bad:
        The output has no value. OpenVINO 2026.4 and 2021.4 refuse the file ("node index is out of
        range").
    Bad example:
        an edge from output port 4, and an entry for port 3 only
    Good example:
        an edge from output port 4, and an entry for port 4
    Fix:
        Map the Result of the body that provides the value.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per output port of a loop that an edge reads but the port map omits."""
        for wiring in context.wirings_with_body:
            mapped = {entry.position for entry in wiring.outputs}
            # An entry whose number cannot be read may be the missing one.
            if not wiring.is_loop_op or any(item.external is None for item in wiring.outputs):
                continue
            read = {edge.from_port for edge in wiring.outer.edges_out_of(wiring.owner)}
            for position, port in enumerate(wiring.owner.outputs):
                if position in mapped or port.id not in read:
                    continue
                yield self.found(
                    at_port(wiring.owner, port),
                    f"output port {port.id} of {describe(wiring.owner)} is read but not mapped",
                    expected=f'an entry with external_port_id="{port.id}" in port_map',
                    found="none",
                    fix="map the Result of the body that gives the value",
                )
