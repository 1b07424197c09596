"""IRL808: sequence without activations."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ActivationsMissing(
    Rule, code="IRL808", severity=Severity.ERROR, title="sequence without activations"
):
    """A recurrent sequence does not name its activations.

    What it does:
        Looks for `activations` of each LSTMSequence, GRUSequence and RNNSequence.
    Why is this bad:
        The specification has defaults. OpenVINO 2026.4 and 2021.4 fail when they compile the
        model without the attribute. (Cells may leave it out.)
    Bad example:
        <data hidden_size="4" direction="forward"/>
    Good example:
        <data hidden_size="4" direction="forward" activations="sigmoid,tanh,tanh"/>
    Fix:
        Write the default: sigmoid,tanh,tanh (LSTM), sigmoid,tanh (GRU), tanh (RNN). irloop writes
        it whenever it saves an IR.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per recurrent sequence that does not name its activations."""
        for cell in recurrent.recurrent_layers(context):
            if not cell.is_sequence or recurrent.activations(cell.layer):
                continue
            default = {4: "sigmoid,tanh,tanh", 3: "sigmoid,tanh"}.get(cell.gates, "tanh")
            yield self.found(
                at_data(cell.layer, "activations"),
                f"{describe(cell.layer)} has no attribute activations",
                expected=default,
                found="none",
                fix=f'write activations="{default}"',
            )
