"""ONX401: branches return different element types."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_bodies import kind_of
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import FILE, OnnxRule


class BranchTypes(
    OnnxRule,
    code="ONX401",
    severity=Severity.ERROR,
    title="branches return different element types",
    requires=("ONX101", "ONX207"),
    scope=FILE,
):
    """The two branches of an If return different element types for one output.

    What it does:
        Compares the inferred types of the outputs of then_branch and else_branch, or the declared
        ones where inference fails.
    Why is this bad:
        The specification demands the same type. onnx.checker, ONNX Runtime and OpenVINO refuse
        the model.
    Bad example:
        then_branch returns float, else_branch returns int64
    Good example:
        both return float
    Fix:
        Insert a Cast in one of the branches.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each If output whose element type differs between the branches."""
        for node in context.nodes("If"):
            then, other = node.bodies.get("then_branch"), node.bodies.get("else_branch")
            if then is None or other is None:
                continue
            left_types, right_types = context.result_types(then), context.result_types(other)
            for index, (left, right) in enumerate(zip(then.outputs, other.outputs, strict=False)):
                first, second = kind_of(left_types[index]), kind_of(right_types[index])
                if not first or second in ("", first):
                    continue
                yield self.found(
                    at_node(node),
                    f"the branches of If {node.label!r} return different element types",
                    expected=f"{first}, as {left!r} of then_branch",
                    found=f"{second} for {right!r} of else_branch",
                    fix="insert a Cast in one of the branches",
                )
