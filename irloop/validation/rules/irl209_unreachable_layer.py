"""IRL209: layer that no Result needs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnreachableLayer(
    Rule, code="IRL209", severity=Severity.INFO, title="layer that no Result needs"
):
    """No Result depends on a layer.

    What it does:
        Walks back from every Result and Assign; Parameters are not reported (IRL210).
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 ignore the layer. Either it is useless, or an edge or a Result is
        missing.
    Bad example:
        a ReLU with an unused output
    Good example:
        a ReLU that feeds a Result
    Fix:
        Remove the layer, or connect it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each layer that no Result or Assign needs; Parameters are exempt."""
        for index in context.nets:
            needed = index.reachable
            if len(needed) == len(index.layers):
                continue
            for key, layer in index.layers.items():
                if key not in needed and layer.type != "Parameter":
                    yield self.found(
                        at_layer(layer),
                        f"no Result needs {describe(layer)}; readers drop it",
                        fix="remove the layer or connect it",
                    )
