"""IRL204: input port without an edge before others."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class InputGap(
    Rule, code="IRL204", severity=Severity.ERROR, title="input port without an edge before others"
):
    """An input port has no edge although a later one has.

    What it does:
        Looks for unconnected input ports in front of a connected one, in document order.
    Why is this bad:
        Inputs are counted by position, so there is nothing that could stand for the gap. OpenVINO
        2026.4 and 2021.4 refuse the layer ("is inconsistent").
    Bad example:
        an Add with an edge to port 1 only
    Good example:
        an Add with edges to port 0 and port 1
    Fix:
        Connect the port. Only inputs at the end may be left out.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding a port."""
        for layer, port, trailing in context.open_inputs:
            if trailing:
                continue
            yield self.found(
                at_port(layer, port),
                f"input port {port.id} of {describe(layer)} has no edge, but a later port has",
                expected="an edge to each input port up to the last connected one",
                found=f"no edge to port {port.id}",
                fix="connect the port",
            )
