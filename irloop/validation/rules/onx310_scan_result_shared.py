"""ONX310: a Scan body gives out a value that is not its own."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import FILE, OnnxRule


class ScanResultShared(
    OnnxRule,
    code="ONX310",
    severity=Severity.WARNING,
    title="a Scan body gives out a value that is not its own",
    requires=("ONX101",),
    scope=FILE,
):
    """A result of a Scan body is one of its inputs, or the result before it once more.

    What it does:
        Looks for names that stand among the inputs of a Scan body and again among its outputs,
        or twice among its outputs.
    Why is this bad:
        The specification allows it. ONNX Runtime swaps the buffers of
        states and writes each value to one place: a state that is passed on unchanged is lost, of
        a value given out twice one result is never written. The numbers are wrong, without any
        message.
    Bad example:
        Scan body (state, part) => (state, part)
    Good example:
        Scan body (state, part) => (kept, copy) { kept = Identity(state) copy = Identity(part) }
    Fix:
        Give out an Identity of the value: irloop transform --pass separate_results.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding a result."""
        for node in context.nodes("Scan"):
            body = node.bodies.get("body")
            if body is None:
                continue
            for index, name in enumerate(body.outputs):
                passed = name in body.inputs
                if passed or name in body.outputs[:index]:
                    yield self.found(
                        at_node(node),
                        f"the body of Scan {node.label!r} gives out {name!r}, "
                        + ("which is its input" if passed else "which is a result already"),
                        expected="a value of its own for each result",
                        found=f"{name!r} as result {index}",
                        cause="ONNX Runtime computes wrong numbers for such a body",
                        fix=f"give out an Identity of {name!r}",
                    )
