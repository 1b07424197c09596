"""IRL810: W and R of an LSTMCell in one tensor."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class JoinedWeights(
    Rule, code="IRL810", severity=Severity.WARNING, title="W and R of an LSTMCell in one tensor"
):
    """An LSTMCell has its weights W and R side by side in one input.

    What it does:
        Looks for an LSTMCell of five inputs whose last one is a vector: X [B,I], H and C [B,S],
        the weights [4*S,I+S], and the bias [4*S].
    Why is this bad:
        The second example of TensorIterator-1 has this older form, and irloop reads, runs and
        converts it. OpenVINO 2026.4 and 2021.4 refuse the file ("index '5' out of range").
    Bad example:
        an LSTMCell with weights of shape [16,6] and a bias of shape [16], for I=2 and S=4
    Good example:
        an LSTMCell with W of shape [16,2], R of shape [16,4] and a bias of shape [16]
    Fix:
        Split the weights into W, the first I columns, and R, the last S; `irloop transform` without
        a pass does so.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per LSTMCell that has W and R joined in one input."""
        for cell in recurrent.recurrent_layers(context):
            if not cell.net.is_used(cell.layer) or not recurrent.has_joined_weights(
                context, cell.net, cell.layer
            ):
                continue
            yield self.found(
                at_layer(cell.layer),
                f"{describe(cell.layer)} has W and R in one tensor, which OpenVINO does not read",
                expected="6 inputs",
                found="5 inputs: data, two states, joined weights, bias",
                fix="split the weights into W and R",
            )
