"""IRL809: activation_alpha or activation_beta is misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ActivationAlpha(
    Rule,
    code="IRL809",
    severity=Severity.WARNING,
    title="activation_alpha or activation_beta is misspelt",
):
    """A recurrent operation has `activation_alpha` or `activation_beta`, without the s.

    What it does:
        Looks for the two names on recurrent cells and sequences.
    Why is this bad:
        Model Optimizer 2021.4 writes `activation_alpha="[0.3]"`. Readers, including its own final
        stage, look for `activations_alpha`, so the number is silently lost.
    Bad example:
        <data hidden_size="4" activation_alpha="[0.3]"/>
    Good example:
        <data hidden_size="4" activations_alpha="0.3"/>
    Fix:
        Write activations_alpha or activations_beta, numbers separated by commas.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per attribute activation_alpha or activation_beta of a recurrent layer."""
        for cell in recurrent.recurrent_layers(context):
            for name in ("activation_alpha", "activation_beta"):
                if name not in cell.layer.data:
                    continue
                right = name.replace("activation_", "activations_")
                yield self.found(
                    at_data(cell.layer, name),
                    f"{name} of {describe(cell.layer)} is ignored",
                    expected=right,
                    found=f'{name}="{cell.layer.data[name]}"',
                    cause="Model Optimizer 2021.4 misspells it",
                    fix=f"write {right}, numbers separated by commas",
                )
