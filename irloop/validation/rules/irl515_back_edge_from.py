"""IRL515: back edge does not start from a Result."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import port_map_problems as problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BackEdgeFrom(
    Rule,
    code="IRL515",
    severity=Severity.ERROR,
    title="back edge does not start from a Result",
    requires=("IRL104",),
):
    """A back edge starts from a layer that is not a Result of the body, or that does not exist.

    What it does:
        Checks `from-layer` of each back edge.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 stop with the unhelpful exception "unordered_map::at". Back edges
        run from Results to Parameters of the body.
    Bad example:
        <edge from-layer="2" to-layer="0"/> where layer 2 is an Add
    Good example:
        <edge from-layer="3" to-layer="0"/> where layer 3 is a Result
    Fix:
        Name the Result that the layer feeds; add one if there is none.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per back edge that does not start at a Result of the body."""
        for wiring in context.loops:
            for edge, name, layer in wiring.wrong_ends("Result"):
                assert wiring.body is not None
                cause = context.elsewhere(wiring.body, name) if layer is None else ""
                problem = problems.wrong_end(wiring, edge, "Result", layer, cause)
                yield self.from_problem(problem)
