"""IRL502: port map is missing or empty."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class PortMapMissing(
    Rule,
    code="IRL502",
    severity=Severity.ERROR,
    title="port map is missing or empty",
    requires=("IRL501",),
):
    """A TensorIterator, Loop or If has no port map, or one without entries.

    What it does:
        Looks for `port_map`, or for `then_port_map` and `else_port_map` of an If with outputs.
    Why is this bad:
        Nothing connects the body to the model. OpenVINO 2026.4 refuses the file with "node
        index is out of range" or, for an If, fails when it compiles the model.
    Bad example:
        <port_map/>
    Good example:
        <port_map><input external_port_id="0" internal_layer_id="0"/>...</port_map>
    Fix:
        Restore the port map from the original model.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per body whose port map is missing or empty.

        The bodies of an If without outputs need no port map.
        """
        branches = (w for _, layer, both in context.branches if layer.outputs for w in both)
        for wiring in (*context.loops, *branches):
            section = wiring.section
            if wiring.body is None:
                continue
            if section is not None and (section.inputs or section.outputs):
                continue
            yield self.from_problem(problems.port_map_missing(wiring))
