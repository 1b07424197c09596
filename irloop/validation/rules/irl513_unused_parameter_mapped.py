"""IRL513: body Parameter that nothing uses is mapped."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class UnusedParameterMapped(
    Rule,
    code="IRL513",
    severity=Severity.WARNING,
    title="body Parameter that nothing uses is mapped",
):
    """An input entry feeds a body Parameter that no layer of the body reads.

    What it does:
        Looks for mapped Parameters of bodies without an outgoing edge, in IR of version 10.
    Why is this bad:
        OpenVINO 2026.4 accepts it. OpenVINO 2021.4, which reads no IR of version 11, cannot read
        the file ("vector::_M_range_check").
    Bad example:
        a body Parameter without edges, and an entry with its id
    Good example:
        neither the Parameter nor the entry nor, if nothing else needs it, the input
    Fix:
        Remove the Parameter and its entry.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each mapped body Parameter that no layer of the body reads."""
        for wiring in context.wirings_with_body if context.version == 10 else ():
            body = wiring.body
            if body is None:
                continue
            for layer in body.parameters:
                entry = wiring.entry_of.get(layer.id or "")
                if entry is None or body.edges_out_of(layer):
                    continue
                yield self.found(
                    at_layer(layer),
                    f"{describe(layer)} is mapped, but nothing in the body reads it",
                    expected="a Parameter that a layer reads, or no such Parameter",
                    found=f"no edge from layer {layer.id}",
                    cause="OpenVINO 2021.4 cannot read such a file",
                    fix="remove the Parameter and its entry in the port map",
                )
