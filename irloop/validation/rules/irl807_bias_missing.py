"""IRL807: bias of a recurrent operation is missing."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BiasMissing(
    Rule, code="IRL807", severity=Severity.ERROR, title="bias of a recurrent operation is missing"
):
    """A recurrent operation has no bias input.

    What it does:
        Looks for an edge to the bias, the last input of each recurrent cell and sequence.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("index '5' out of range").
    Bad example:
        an LSTMCell with 5 inputs
    Good example:
        an LSTMCell with 6 inputs, the last a constant of zeros
    Fix:
        Add a constant of zeros as bias.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per recurrent layer that has all of its inputs except the bias."""
        for cell in recurrent.recurrent_layers(context):
            count = len(cell.net.edges_into(cell.layer))
            wanted = cell.first_weight + 3
            if count != wanted - 1 or not cell.net.is_used(cell.layer):
                continue
            if recurrent.has_joined_weights(context, cell.net, cell.layer):
                continue
            yield self.found(
                at_layer(cell.layer),
                f"{describe(cell.layer)} has no bias",
                expected=f"{wanted} inputs",
                found=f"{count} inputs",
                fix="add a constant of zeros as bias",
            )
