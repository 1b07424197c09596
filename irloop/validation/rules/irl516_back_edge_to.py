"""IRL516: back edge does not end in a Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BackEdgeTo(
    Rule,
    code="IRL516",
    severity=Severity.ERROR,
    title="back edge does not end in a Parameter",
    requires=("IRL104",),
):
    """A back edge ends in a layer that is not a Parameter of the body, or that does not exist.

    What it does:
        Checks `to-layer` of each back edge.
    Why is this bad:
        OpenVINO 2026.4 silently ignores the edge: the state keeps its initial value, and the result
        is wrong.
    Bad example:
        <edge from-layer="3" to-layer="2"/> where layer 2 is an Add
    Good example:
        <edge from-layer="3" to-layer="0"/> where layer 0 is a Parameter
    Fix:
        Name the Parameter that holds the state.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per back edge that does not end in a Parameter of the body."""
        for wiring in context.loops:
            for edge, name, layer in wiring.wrong_ends("Parameter"):
                assert wiring.body is not None
                cause = context.elsewhere(wiring.body, name) if layer is None else ""
                problem = problems.wrong_end(wiring, edge, "Parameter", layer, cause)
                yield self.from_problem(problem)
