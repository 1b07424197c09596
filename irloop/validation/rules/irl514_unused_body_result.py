"""IRL514: body Result that is neither mapped nor carried back."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import OWNER, Rule


class UnusedBodyResult(
    Rule,
    code="IRL514",
    severity=Severity.INFO,
    title="body Result that is neither mapped nor carried back",
    requires=("IRL502", "IRL509", "IRL510", "IRL515"),
    scope=OWNER,
):
    """A Result of a body is neither an output nor the start of a back edge.

    What it does:
        Looks for Results of bodies that no output entry and no back edge names.
    Why is this bad:
        Readers accept it, but compute the value for nothing. A back edge or an output entry may be
        missing.
    Bad example:
        a body Result 9 that neither port_map nor back_edges mention
    Good example:
        <edge from-layer="9" to-layer="0"/> in back_edges
    Fix:
        Map the Result, carry it back, or remove it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per body Result that is neither mapped to an output nor carried back."""
        for wiring in context.wirings_with_body:
            body = wiring.body
            if body is None or wiring.section is None:
                continue
            named = {entry.entry.attributes.get("internal_layer_id") for entry in wiring.outputs}
            named |= {edge.from_layer for edge, _, _ in wiring.back_edges}
            for layer in body.results:
                if layer.id not in named:
                    yield self.found(
                        at_layer(layer),
                        f"{describe(layer)} is neither mapped to an output nor carried back",
                        fix="map it, carry it back, or remove it",
                    )
