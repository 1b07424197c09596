"""IRL202: edge ends in an unknown layer."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import edge_problems
from irloop.validation.context import Context
from irloop.validation.rule import NET, Rule


class EdgeToUnknown(
    Rule,
    code="IRL202",
    severity=Severity.ERROR,
    title="edge ends in an unknown layer",
    requires=("IRL105",),
    scope=NET,
    legacy=True,
):
    """An edge ends in a layer that the net does not have.

    What it does:
        Looks up `to-layer` of each edge among the layers of the same net.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 ignore the edge without a word, so the layer that should read the
        value has no such input.
    Bad example:
        <edge from-layer="1" from-port="0" to-layer="44" to-port="0"/>
    Good example:
        <edge from-layer="1" from-port="0" to-layer="2" to-port="0"/>
    Fix:
        Name an existing layer, or remove the edge. A body sees only its own layers.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per edge that ends in a layer missing in its net."""
        for index in context.nets:
            for name, edge in index.ending_nowhere(index.incoming):
                cause = context.elsewhere(index, name)
                yield self.from_problem(edge_problems.edge_to_unknown(index, edge, cause))
