"""IRL108: no layers, or no Result."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class NothingToCompute(
    Rule, code="IRL108", severity=Severity.ERROR, title="no layers, or no Result"
):
    """The model, or the body of an operation with outputs, has no Result.

    What it does:
        Checks that there are layers, and a Result among them. An Assign counts, too, since it is
        computed.
    Why is this bad:
        OpenVINO starts at the Results and keeps the layers that they need. Without one, 2026.4
        reads the file "successfully" as a model without outputs, so that this is only a warning
        for a model with layers. The spelling of `Result` matters: `result` is not found.
    Bad example:
        <layer id="2" name="out" type="result" version="opset1">
    Good example:
        <layer id="2" name="out" type="Result" version="opset1">
    Fix:
        Add a Result for each output, or correct its spelling.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per net that has neither a Result nor an Assign.

        The body of a layer without outputs needs neither.
        """
        for index in context.nets:
            owner = index.net.owner
            if owner is not None and not owner.outputs:
                continue
            if not index.results and not index.of_type("assign"):
                yield self.from_problem(problems.no_result(index))
