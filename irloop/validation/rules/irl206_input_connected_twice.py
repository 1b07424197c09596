"""IRL206: several edges to one input port."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import edge_problems
from irloop.formats.openvino.document import Edge, Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InputConnectedTwice(
    Rule,
    code="IRL206",
    severity=Severity.ERROR,
    title="several edges to one input port",
    legacy=True,
):
    """Two or more edges end in the same input port.

    What it does:
        Counts the edges to each input port.
    Why is this bad:
        An input has one value. OpenVINO 2026.4 refuses the file with "incorrect input with index
        k", which does not mention the edge.
    Bad example:
        <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
        <edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
    Good example:
        <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
        <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    Fix:
        Remove one edge, or let it end in another port.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each edge to an input port that already has an edge."""
        for index in context.nets:
            for target, edges in index.incoming.items():
                if len(edges) > 1 and len({edge.to_port for edge in edges}) < len(edges):
                    layer = index.layers.get(target)
                    if layer is not None:
                        yield from self._edges(index, layer, edges)

    def _edges(self, index: NetIndex, layer: Layer, edges: list[Edge]) -> Iterator[Diagnostic]:
        first: dict[str | None, Edge] = {}
        for edge in edges:
            other = first.setdefault(edge.to_port, edge)
            if other is not edge:
                problem = edge_problems.input_connected_twice(index, edge, layer, other)
                yield self.from_problem(problem)
