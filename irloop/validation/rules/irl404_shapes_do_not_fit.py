"""IRL404: operands break a rule of the operation."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ShapesDoNotFit(
    Rule,
    code="IRL404",
    severity=Severity.ERROR,
    title="operands break a rule of the operation",
    requires=("IRL1", "IRL2", "IRL3", "IRL406", "IRL5", "IRL6", "IRL7", "IRL8"),
    needs_graph=True,
):
    """The shapes of the operands violate a requirement of the operation.

    What it does:
        Infers the shapes of all operations, bodies included, and checks the operands of each
        operation: broadcasting, inner dimensions, channels, windows.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file if the shapes are known.
    Bad example:
        an Add of shapes [1,2] and [1,3]
    Good example:
        an Add of shapes [1,2] and [1,1]
    Fix:
        Correct the shape of an operand; first check the constants and recent edits.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per layer whose operands have shapes that its operation does not allow."""
        yield from self.from_inference(context.inference_errors)
