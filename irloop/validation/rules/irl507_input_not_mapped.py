"""IRL507: input of a loop is not mapped."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InputNotMapped(
    Rule,
    code="IRL507",
    severity=Severity.ERROR,
    title="input of a loop is not mapped",
    requires=("IRL104", "IRL501", "IRL502", "IRL503", "IRL505", "IRL520"),
):
    """A connected input of a TensorIterator or Loop has no entry in the port map.

    What it does:
        Looks for an entry for each input port that has an edge. The trip count and the condition
        of a Loop (inputs 0 and 1) need none.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file ("Number of inputs must be the same as number
        of input descriptions").
    Bad example:
        a TensorIterator with inputs 0 and 1, and an entry for 0 only
    Good example:
        an entry for each of them
    Fix:
        Map the input to the body Parameter that should receive it, or remove the port.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each connected input port of a loop that its port map omits.

        The first two ports of a Loop need no entry. A loop is skipped if one of its input entries
        has no readable port number, because this entry may be the missing entry.
        """
        for wiring in context.wirings_with_body:
            mapped = {entry.position for entry in wiring.inputs}
            # An entry whose number cannot be read may be the missing one.
            if not wiring.is_loop_op or any(item.external is None for item in wiring.inputs):
                continue
            connected = {edge.to_port for edge in wiring.outer.edges_into(wiring.owner)}
            for position, port in enumerate(wiring.owner.inputs):
                free = wiring.is_loop and position < 2
                if free or position in mapped or port.id not in connected:
                    continue
                yield self.found(
                    at_port(wiring.owner, port),
                    f"input {position} of {describe(wiring.owner)} is not mapped",
                    expected=f'an entry with external_port_id="{position}" in port_map',
                    found="none",
                    fix="map it to a Parameter of the body, or remove the port and its edge",
                )
