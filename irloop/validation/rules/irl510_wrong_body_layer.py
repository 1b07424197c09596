"""IRL510: port map names a layer that is not a Parameter or Result."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class WrongBodyLayer(
    Rule,
    code="IRL510",
    severity=Severity.ERROR,
    title="port map names a layer that is not a Parameter or Result",
):
    """An input entry does not name a Parameter, or an output entry does not name a Result.

    What it does:
        Checks the type of the layer that `internal_layer_id` names.
    Why is this bad:
        Values enter a body through Parameters and leave it through Results. OpenVINO 2026.4 and
        2021.4 stop with the unhelpful exception "unordered_map::at".
    Bad example:
        <output external_port_id="1" internal_layer_id="2"/> where layer 2 is an Add
    Good example:
        <output external_port_id="1" internal_layer_id="3"/> where layer 3 is a Result
    Fix:
        Name the Parameter that reads the value, or the Result that is fed by the layer.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each entry that names a body layer of the wrong type.

        An input entry must name a Parameter, an output entry a Result.
        """
        for wiring in context.wirings_with_body:
            for entry in (*wiring.inputs, *wiring.outputs):
                wanted = "Parameter" if entry.entry.kind == "input" else "Result"
                inner = entry.inner
                if inner is None or inner.type == wanted:
                    continue
                yield self.from_problem(problems.wrong_body_layer(wiring, entry, inner))
