"""IRL405: attribute or axis is out of range."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class AttributeRange(
    Rule,
    code="IRL405",
    severity=Severity.ERROR,
    title="attribute or axis is out of range",
    requires=("IRL1", "IRL2", "IRL3", "IRL406", "IRL5", "IRL6", "IRL7", "IRL8"),
    needs_graph=True,
):
    """An axis or another parameter of an operation is outside the range that its operands allow.

    What it does:
        Checks the axes, splits, windows and counts of each operation, bodies included, against the
        inferred shapes; reads constants that hold such parameters.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file if the rank is known.
    Bad example:
        a SoftMax with axis="2" of a tensor of rank 2
    Good example:
        a SoftMax with axis="1"
    Fix:
        Correct the attribute or the constant.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each layer with an attribute that is out of range.

        The operands determine the range: for example, an axis of 2 is out of range if the operand
        has rank 2.
        """
        yield from self.from_inference(context.inference_errors)
