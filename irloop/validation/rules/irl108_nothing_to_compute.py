"""IRL108: no layers, or no Result."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_layer, at_net, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class NothingToCompute(
    Rule, code="IRL108", severity=Severity.ERROR, title="no layers, or no Result"
):
    """The model, or the body of an operation with outputs, has no Result.

    What it does:
        Looks for layers at all and for a Result among them; Assign counts, it is computed too.
    Why is this bad:
        OpenVINO starts at the Results and keeps what they need. Without one 2026.4 reads the file
        "successfully" as a model without outputs. `Result` must be spelled exactly so: `result`
        is not found either.
    Bad example:
        <layer id="2" name="out" type="result" version="opset1">
    Good example:
        <layer id="2" name="out" type="Result" version="opset1">
    Fix:
        Add a Result for each output, or correct its spelling.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding a net."""
        for index in context.nets:
            owner = index.net.owner
            if owner is not None and not owner.outputs:
                continue
            if index.results or index.of_type("assign"):
                continue
            wrong = next(iter(index.of_type("result")), None)
            what = "the model" if owner is None else f"a body of {describe(owner)}"
            yield self.found(
                at_net(index.net) if wrong is None else at_layer(wrong),
                f"{what} has no {'layers' if not index.net.layers else 'Result'}",
                expected="at least one layer of type Result",
                found="none" if wrong is None else f"type {wrong.type!r}",
                cause="" if wrong is None else "the type must be spelled Result, capital R",
                fix="add a Result layer for each output"
                if wrong is None
                else 'write type="Result"',
            )
