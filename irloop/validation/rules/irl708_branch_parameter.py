"""IRL708: branch Parameter is used but gets no value."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import OWNER, Rule


class BranchParameter(
    Rule,
    code="IRL708",
    severity=Severity.ERROR,
    title="branch Parameter is used but gets no value",
    requires=("IRL502", "IRL509", "IRL510", "IRL511"),
    scope=OWNER,
):
    """A Parameter of a branch is used, but nothing is mapped to it.

    What it does:
        Looks for an input entry for each Parameter of an If branch that a Result depends on.
    Why is this bad:
        OpenVINO 2026.4 silently accepts it; the Parameter reads zeros or garbage.
    Bad example:
        a Parameter 0 in then_body, and no entry with internal_layer_id="0" in then_port_map
    Good example:
        <input external_port_id="1" internal_layer_id="0"/>
    Fix:
        Map an input of the If to the Parameter.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each Parameter of an If branch that is used, but gets no value.

        A Result depends on such a Parameter, and no input entry of the port map names it.
        """
        for _, layer, both in context.branches:
            for wiring in both:
                body = wiring.body
                if body is None or wiring.section is None:
                    continue
                for parameter in body.parameters:
                    if not body.is_used(parameter) or parameter.id in wiring.entry_of:
                        continue
                    yield self.found(
                        at_layer(parameter),
                        f"{describe(parameter)} is used but gets no value",
                        expected=f'an input entry with internal_layer_id="{parameter.id}"',
                        found="none",
                        fix=f"map an input of {layer.name} to it",
                    )
