"""IRL519: state without an initial value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class StateWithoutStart(
    Rule,
    code="IRL519",
    severity=Severity.ERROR,
    title="state without an initial value",
    requires=("IRL104", "IRL502"),
):
    """A back edge ends in a Parameter that no outer input is mapped to.

    What it does:
        Looks for the input entry of each Parameter that a back edge ends in; the entry must name
        an input of the layer.
    Why is this bad:
        The state has no value in the first iteration. Without an entry OpenVINO 2026.4 ignores
        the back edge without a word; with external_port_id="-1" it refuses the file.
    Bad example:
        <edge from-layer="3" to-layer="0"/> and no entry with internal_layer_id="0"
    Good example:
        <input external_port_id="2" internal_layer_id="0"/>
    Fix:
        Map the input that holds the initial value, a constant of zeros for example.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each back edge to a Parameter that gets no initial value.

        The initial value is the outer input that the port map assigns to this Parameter.
        """
        for wiring in context.wirings_with_body:
            for edge, _, target in wiring.back_edges if wiring.is_loop_op else ():
                if target is None or target.type != "Parameter":
                    continue
                entry = wiring.entry_of.get(target.id or "")
                if entry is not None and entry.external != -1:
                    continue
                yield self.from_problem(problems.state_without_start(wiring, edge, target))
