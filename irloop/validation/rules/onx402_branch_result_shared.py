"""ONX402: a branch returns one value as two results."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import FILE, OnnxRule


class BranchResultShared(
    OnnxRule,
    code="ONX402",
    severity=Severity.WARNING,
    title="a branch returns one value as two results",
    requires=("ONX101",),
    scope=FILE,
):
    """A branch of an If returns the same value twice.

    What it does:
        Looks for names that occur twice among the outputs of then_branch or of else_branch.
    Why is this bad:
        The specification allows it. But ONNX Runtime writes only the last of these results; the
        others are zeros or uninitialised memory, without any message. If the condition is a
        constant, it refuses the model ("Failed to find node output or a constant
        initializer producing output").
    Bad example:
        then_branch () => (a, a) { a = Abs (x) }
    Good example:
        then_branch () => (a, b) { a = Abs (x) b = Identity (a) }
    Fix:
        Return an Identity of the value: irloop transform --pass separate_results.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each branch output whose name an earlier output already has."""
        for node in context.nodes("If"):
            for label, branch in node.bodies.items():
                for index, name in enumerate(branch.outputs):
                    if name in branch.outputs[:index]:
                        yield self.found(
                            at_node(node),
                            f"{label} of If {node.label!r} returns {name!r} as two results",
                            expected="a value of its own for each result",
                            found=f"{name!r} again as result {index}",
                            cause="ONNX Runtime writes only the last of them",
                            fix=f"return an Identity of {name!r}",
                        )
