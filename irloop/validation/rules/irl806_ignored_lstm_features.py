"""IRL806: feature of LSTMCell-1 that runtimes ignore."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.openvino import opsets
from irloop.formats.openvino.attributes import parse_bool
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class IgnoredLstmFeatures(
    Rule,
    code="IRL806",
    severity=Severity.WARNING,
    title="feature of LSTMCell-1 that runtimes ignore",
):
    """An LSTMCell of opset1 to opset3 uses a feature that every runtime ignores.

    What it does:
        Looks for `weights_format` other than fico, for `input_forget` and for a seventh input
        (peepholes).
    Why is this bad:
        They are in the specification of LSTMCell-1. OpenVINO 2026.4 and 2021.4 silently ignore
        them, so the result is wrong.
    Bad example:
        <data hidden_size="4" input_forget="true"/>
    Good example:
        <data hidden_size="4"/>
    Fix:
        Reorder the gates in the weights to fico; implement peepholes and coupled gates by
        elementary operations in a loop body.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """For each LSTMCell of opset1 to opset3, one finding per feature that runtimes ignore."""
        for cell in recurrent.recurrent_layers(context):
            opset = opsets.opset_of(cell.layer.version)
            if (cell.layer.type or "").lower() != "lstmcell" or opset is None or opset > 3:
                continue
            data = cell.layer.data
            order = data.get("weights_format", "fico").lower()
            if order != "fico":
                yield self._ignored(cell.layer, f'weights_format="{order}"')
            if parse_bool(data.get("input_forget", "")):
                yield self._ignored(cell.layer, 'input_forget="true"')
            if len(cell.net.edges_into(cell.layer)) > 6:
                yield self._ignored(cell.layer, "the input for peepholes")

    def _ignored(self, layer: Layer, what: str) -> Diagnostic:
        return self.found(
            at_data(layer),
            f"runtimes ignore {what} of {describe(layer)}",
            expected="gates in the order fico, no input_forget, no peepholes",
            found=what,
            fix="rearrange the weights, or replace the cell by elementary operations in a loop "
            "body",
        )
