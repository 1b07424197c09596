"""IRL207: edges form a cycle."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import edge_problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class Cycle(Rule, code="IRL207", severity=Severity.ERROR, title="edges form a cycle", legacy=True):
    """Edges form a cycle.

    What it does:
        Looks for layers of one net that depend on themselves. The back edges of a loop are a
        separate section and do not count.
    Why is this bad:
        There is no order in which the layers could be computed. OpenVINO 2026.4 refuses the file
        with "Attempt to access node N that not in graph".
    Bad example:
        <edge from-layer="1" ... to-layer="2" .../> <edge from-layer="2" ... to-layer="1" .../>
    Good example:
        a Loop whose back_edges carry the value to the next iteration
    Fix:
        Break the cycle; use a Loop or TensorIterator for repeated computations.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per cycle, at one of its edges."""
        for index in context.nets:
            for cycle in index.cycles:
                yield self.from_problem(edge_problems.cycle(index, cycle))
