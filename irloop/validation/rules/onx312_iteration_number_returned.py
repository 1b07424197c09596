"""ONX312: a Loop body returns its iteration number."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import FILE, OnnxRule


class IterationNumberReturned(
    OnnxRule,
    code="ONX312",
    severity=Severity.WARNING,
    title="a Loop body returns its iteration number",
    requires=("ONX101",),
    scope=FILE,
):
    """The first input of a Loop body is also one of its outputs.

    What it does:
        Looks for the first input of each Loop body, the iteration number, among its outputs.
    Why is this bad:
        The specification allows it. But ONNX Runtime counts all iterations in one tensor and does
        not copy it: a scan output holds the last number everywhere, and a state is too large by one
        in the next iteration and at the end. There is no message.
    Bad example:
        Loop body (i, go, s) => (go, sum, i) { sum = Add(s, i) }
    Good example:
        Loop body (i, go, s) => (go, sum, number) { sum = Add(s, i) number = Identity(i) }
    Fix:
        Return an Identity of the number: irloop transform --pass separate_results.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per Loop body output that is the iteration number itself."""
        for node, body in context.loops():
            number = body.inputs[0]
            for index, name in enumerate(body.outputs):
                if name == number:
                    yield self.found(
                        at_node(node),
                        f"the body of Loop {node.label!r} returns its iteration number {name!r}",
                        expected="a value that the body computes",
                        found=f"the iteration number as output {index}",
                        cause="ONNX Runtime overwrites the number in each iteration",
                        fix=f"return an Identity of {name!r}",
                    )
