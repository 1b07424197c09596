"""IRL210: model input that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnusedParameter(
    Rule, code="IRL210", severity=Severity.INFO, title="model input that nothing reads"
):
    """No layer reads a Parameter of the model.

    What it does:
        Looks for Parameters of the root without an outgoing edge. IRL512 and IRL513 check body
        Parameters.
    Why is this bad:
        OpenVINO keeps it as a model input: callers must supply data that has no effect.
    Bad example:
        <layer id="1" name="y" type="Parameter" .../> and no edge from layer 1
    Good example:
        an edge from layer 1 to the layer that uses it
    Fix:
        Remove the Parameter, or connect it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each Parameter of the root net from which no edge starts."""
        index = context.root
        for layer in index.parameters:
            if not index.edges_out_of(layer):
                yield self.found(
                    at_layer(layer),
                    f"nothing reads the model input {layer.name!r}",
                    fix="remove the Parameter or connect it",
                )
