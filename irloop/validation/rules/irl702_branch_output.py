"""IRL702: branch does not provide an output of the If."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_section, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BranchOutput(
    Rule,
    code="IRL702",
    severity=Severity.ERROR,
    title="branch does not provide an output of the If",
    requires=("IRL104", "IRL502", "IRL504", "IRL506", "IRL701"),
):
    """An output of an If has no entry in one of the port maps.

    What it does:
        Looks for an entry for each output port in `then_port_map` and in `else_port_map`.
    Why is this bad:
        The output has no value when that branch is taken. OpenVINO 2026.4 refuses the file, unless
        the condition is constant.
    Bad example:
        then_port_map with outputs 2 and 3, else_port_map with output 2
    Good example:
        both with outputs 2 and 3
    Fix:
        Map a Result of the branch to the output.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each output port of an If that a branch does not provide.

        A branch provides the port if its port map has an entry for it.
        """
        for _, layer, both in context.branches:
            for wiring in both:
                section = wiring.section
                if section is None or any(item.external is None for item in wiring.outputs):
                    continue
                mapped = {entry.position for entry in wiring.outputs}
                for position, port in enumerate(layer.outputs):
                    if position in mapped:
                        continue
                    yield self.found(
                        at_section(layer, section),
                        f"the {wiring.label} branch of {describe(layer)} does not provide output "
                        f"port {port.id}",
                        expected=f'an output entry with external_port_id="{port.id}"',
                        found="none",
                        fix="map a Result of the branch to the output",
                    )
