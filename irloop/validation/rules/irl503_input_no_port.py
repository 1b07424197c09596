"""IRL503: port map names an input that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InputNoPort(
    Rule,
    code="IRL503",
    severity=Severity.ERROR,
    title="port map names an input that does not exist",
    requires=("IRL104", "IRL106", "IRL520"),
):
    """An input entry of a port map names an external port that the layer does not have.

    What it does:
        Looks up `external_port_id` of each input entry among the input ports of the layer that have
        an edge. -1 means "not connected" and is allowed; the iteration counter of a Loop has it.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 use the number as an index and stop with an unhelpful exception
        ("vector::_M_range_check") or with "Number of inputs must be the same as number of input
        descriptions".
    Bad example:
        <input external_port_id="5" internal_layer_id="0"/> in a layer with 3 inputs
    Good example:
        <input external_port_id="2" internal_layer_id="0"/>
    Fix:
        Name an input port of the layer.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each input entry that names a missing or unconnected input of its layer.

        An entry for the iteration number of a Loop is reported if it names any input.
        """
        for wiring in context.wirings_with_body:
            connected = {edge.to_port for edge in wiring.outer.edges_into(wiring.owner)}
            ports = wiring.owner.inputs
            for entry in wiring.inputs:
                if entry.external is None or entry.external == -1:
                    continue
                place = entry.position
                is_counter = wiring.is_loop and entry.purpose == "current_iteration"
                is_open = len(connected) < len(ports)
                if is_counter or place is None or (is_open and ports[place].id not in connected):
                    yield self.from_problem(problems.no_input(wiring, entry))
