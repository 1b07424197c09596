"""IRL204: unconnected input port before a connected one."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InputGap(
    Rule,
    code="IRL204",
    severity=Severity.ERROR,
    title="unconnected input port before a connected one",
    legacy=True,
):
    """An input port has no edge, but a later one has.

    What it does:
        Looks for unconnected input ports before a connected one, in document order.
    Why is this bad:
        Inputs are identified by position, so a gap cannot be represented. OpenVINO
        2026.4 and 2021.4 refuse the layer ("is inconsistent").
    Bad example:
        an Add with an edge to port 1 only
    Good example:
        an Add with edges to port 0 and port 1
    Fix:
        Connect the port. Only the last inputs may be omitted.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each input port that has no edge, while a later port has one.

        Both are ports of the same layer.
        """
        for layer, port, trailing in context.open_inputs:
            if not trailing:
                yield self.from_problem(problems.open_input(layer, port))
