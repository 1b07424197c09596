"""IRL205: the last input ports of a layer have no edges."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class OpenInput(
    Rule,
    code="IRL205",
    severity=Severity.WARNING,
    title="last input ports without edges",
    requires=("IRL406",),
):
    """The last input ports of a layer have no edges.

    What it does:
        Looks for unconnected input ports after the last connected one.
    Why is this bad:
        OpenVINO 2026.4 treats them as omitted optional inputs. If the operation needs them, the
        file is refused with a message about the operation; otherwise a lost edge silently changes
        the result.
    Bad example:
        a Clamp with a second input port that no edge enters
    Good example:
        a Clamp with one input port
    Fix:
        Connect the port, or remove it from the layer.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per input port if neither it nor a later port of its layer has an edge."""
        for layer, port, trailing in context.open_inputs:
            if not trailing:
                continue
            yield self.found(
                at_port(layer, port),
                f"input port {port.id} of {describe(layer)} has no edge",
                expected="an edge to each declared input port",
                found=f"no edge to port {port.id}",
                cause="an edge was lost, or an optional input is left out",
                fix="connect the port or remove it",
            )
