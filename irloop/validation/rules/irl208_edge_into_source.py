"""IRL208: edge into a Parameter or Const."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import edge_problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class EdgeIntoSource(
    Rule,
    code="IRL208",
    severity=Severity.ERROR,
    title="edge into a Parameter or Const",
    legacy=True,
):
    """An edge ends in a Parameter or Const.

    What it does:
        Looks for edges to layers that have no inputs.
    Why is this bad:
        OpenVINO 2026.4 refuses the file with "Attempt to access node N that not in graph". A body
        Parameter gets its value from the port map, not from an edge.
    Bad example:
        <edge from-layer="2" from-port="1" to-layer="0" to-port="0"/> <!-- 0 is a Parameter -->
    Good example:
        <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    Fix:
        Reverse the edge or remove it; feed body Parameters through port_map or back_edges.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per edge that ends in a Parameter or Const."""
        for index in context.nets:
            for layer in filter(context.is_source, index.net.layers):
                for edge in index.edges_into(layer):
                    yield self.from_problem(edge_problems.edge_into_source(index, edge, layer))
