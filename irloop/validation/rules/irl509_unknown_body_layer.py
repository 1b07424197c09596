"""IRL509: port map names an unknown layer of the body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnknownBodyLayer(
    Rule,
    code="IRL509",
    severity=Severity.ERROR,
    title="port map names an unknown layer of the body",
    requires=("IRL104",),
):
    """`internal_layer_id` names a layer that the body does not have.

    What it does:
        Looks up each entry of a port map among the layers of the body.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 stop with the unhelpful exception "unordered_map::at".
    Bad example:
        <input external_port_id="0" internal_layer_id="99"/>
    Good example:
        <input external_port_id="0" internal_layer_id="0"/>
    Fix:
        Name a Parameter (for an input) or a Result (for an output) of the body.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per port map entry that names a layer missing in the body."""
        for wiring in context.wirings_with_body:
            for entry in (*wiring.inputs, *wiring.outputs):
                name = entry.entry.attributes.get("internal_layer_id")
                if entry.inner is not None or name is None:
                    continue
                assert wiring.body is not None
                cause = context.elsewhere(wiring.body, name)
                yield self.from_problem(problems.unknown_body_layer(wiring, entry, cause))
