"""ONX101: model cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule


class Unreadable(
    OnnxRule,
    code="ONX101",
    severity=Severity.ERROR,
    title="model cannot be read",
    requires=("ONX102", "ONX104", "ONX105", "ONX108"),
):
    """The file is not an ONNX model, or contradicts itself.

    What it does:
        Reads the protobuf and builds the graph. Reports undefined names, cycles, bodies whose
        inputs and outputs do not match their node, missing branches, and attributes of a wrong
        kind.
    Why is this bad:
        The specification forbids it; onnx.checker, ONNX Runtime and OpenVINO refuse the file.
    Bad example:
        an If without else_branch
    Good example:
        an If with then_branch and else_branch, of the same number of outputs
    Fix:
        Export the model again; for a Git LFS pointer run `git lfs pull`.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each error that makes the reader reject the model."""
        _ = context.inference_errors  # this line reads the model
        if context.read_error is None:
            return
        for error in context.read_error.diagnostics:
            yield self.found(
                at_path(error.location.path),
                error.message,
                expected=error.expected,
                found=error.found,
                cause=error.cause,
                fix=error.fix or "export the model again",
            )
