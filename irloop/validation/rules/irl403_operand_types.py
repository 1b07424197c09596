"""IRL403: operands have different element types."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class OperandTypes(
    Rule,
    code="IRL403",
    severity=Severity.ERROR,
    title="operands have different element types",
    requires=("IRL1", "IRL2", "IRL3", "IRL406", "IRL5", "IRL6", "IRL7", "IRL8"),
    needs_graph=True,
):
    """The operands of an operation have element types that it cannot combine.

    What it does:
        Infers the element types of all operations, bodies included, and checks the operands of each
        operation.
    Why is this bad:
        IR has no implicit conversion. OpenVINO 2026.4 and 2021.4 refuse the file.
    Bad example:
        an Add of an f32 and an i64 tensor
    Good example:
        a Convert of the i64 tensor to f32, then the Add
    Fix:
        Insert a Convert.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per layer whose operands have element types that it cannot combine."""
        yield from self.from_inference(context.inference_errors)
