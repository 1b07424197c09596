"""IRL801: hidden_size disagrees with the state."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class HiddenSize(
    Rule,
    code="IRL801",
    severity=Severity.ERROR,
    title="hidden_size disagrees with the state",
):
    """`hidden_size` is not the size of the initial hidden state.

    What it does:
        Compares the attribute of each recurrent cell and sequence with the declared last dimension
        of its second input.
    Why is this bad:
        OpenVINO 2026.4 ignores the attribute of a cell and computes with the shapes; a sequence
        fails when the model is compiled. Other tools trust the attribute.
    Bad example:
        hidden_size="3" with an initial state of shape [1,4]
    Good example:
        hidden_size="4" with an initial state of shape [1,4]
    Fix:
        Write the size of the state.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Report each recurrent layer whose hidden_size is not the size of its initial state."""
        for cell in recurrent.recurrent_layers(context):
            dims = context.operand(cell.net, cell.layer, 1).dims
            size = dims[-1] if dims else None
            if size is None or cell.hidden_size in (None, size):
                continue
            yield self.found(
                at_data(cell.layer, "hidden_size"),
                f"hidden_size of {describe(cell.layer)} is not the size of its state",
                expected=f"{size}, as in the initial state {texts.show_dims(dims)}",
                found=str(cell.hidden_size),
                fix=f'write hidden_size="{size}"',
            )
