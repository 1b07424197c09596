"""ONX310: a Scan body returns an input, or one value twice."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import FILE, OnnxRule


class ScanResultShared(
    OnnxRule,
    code="ONX310",
    severity=Severity.WARNING,
    title="a Scan body returns an input, or one value twice",
    requires=("ONX101",),
    scope=FILE,
):
    """A result of a Scan body is one of its inputs, or the same value as another result.

    What it does:
        Looks for names that are both inputs and outputs of a Scan body, or that occur twice among
        its outputs.
    Why is this bad:
        The specification allows it. But ONNX Runtime swaps the buffers of states and writes each
        value to only one place: a state that is returned unchanged is lost, and if one value is two
        results, one of them is never written. The numbers are wrong, without any message.
    Bad example:
        Scan body (state, part) => (state, part)
    Good example:
        Scan body (state, part) => (kept, copy) { kept = Identity(state) copy = Identity(part) }
    Fix:
        Return an Identity of the value: irloop transform --pass separate_results.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Scan body output that is a body input or repeats an earlier output."""
        for node in context.nodes("Scan"):
            body = node.bodies.get("body")
            if body is None:
                continue
            for index, name in enumerate(body.outputs):
                passed = name in body.inputs
                if passed or name in body.outputs[:index]:
                    yield self.found(
                        at_node(node),
                        f"the body of Scan {node.label!r} returns {name!r}, "
                        + ("which is one of its inputs" if passed else "which it already returns"),
                        expected="a value of its own for each result",
                        found=f"{name!r} as result {index}",
                        cause="ONNX Runtime computes wrong numbers for such a body",
                        fix=f"return an Identity of {name!r}",
                    )
