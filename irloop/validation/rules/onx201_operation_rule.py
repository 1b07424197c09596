"""ONX201: operands break a rule of the operation."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule


class OperationRule(
    OnnxRule, code="ONX201", severity=Severity.ERROR, title="operands break a rule of the operation"
):
    """Element types, shapes or attributes of an operation contradict its specification.

    What it does:
        Infers the types and shapes of all operations, bodies included, and checks the operands of
        each.
    Why is this bad:
        ONNX Runtime and OpenVINO refuse the model, or fail when they run it.
    Bad example:
        an Add of a float and an int64 tensor
    Good example:
        a Cast of the int64 tensor to float, then the Add
    Fix:
        Correct the operand or the attribute.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per node whose operands or attributes break a rule of its operation.

        Missing inputs are reported by ONX104 instead.
        """
        for error in context.inference_errors:
            if error.kind == "inputs":
                continue
            fault = error.diagnostics[0]
            path = fault.location.path or fault.message.partition("'")[2].partition("'")[0]
            yield self.found(
                at_path(path),
                fault.message,
                expected=fault.expected,
                found=fault.found,
                fix="correct it",
            )
