"""IRL201: edge starts from an unknown layer."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import edge_problems
from irloop.validation.context import Context
from irloop.validation.rule import NET, Rule


class EdgeFromUnknown(
    Rule,
    code="IRL201",
    severity=Severity.ERROR,
    title="edge starts from an unknown layer",
    requires=("IRL105",),
    scope=NET,
    legacy=True,
):
    """An edge starts from a layer that the net does not have.

    What it does:
        Looks up `from-layer` of each edge among the layers of the same net.
    Why is this bad:
        OpenVINO 2026.4 refuses the file with "Cannot create  layer  id:0 from unsupported
        opset", which names neither the edge nor the layer.
    Bad example:
        <edge from-layer="33" from-port="0" to-layer="2" to-port="0"/>
    Good example:
        <edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
    Fix:
        Name an existing layer, or remove the edge. A body sees only its own layers.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per edge that starts from a layer missing in its net."""
        for index in context.nets:
            for name, edge in index.ending_nowhere(index.outgoing):
                cause = context.elsewhere(index, name)
                yield self.from_problem(edge_problems.edge_from_unknown(index, edge, cause))
