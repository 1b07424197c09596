"""ONX208: body has inputs that nothing feeds."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class InputsNotFed(
    OnnxRule, code="ONX208", severity=Severity.ERROR, title="body has inputs that nothing feeds"
):
    """A branch of an If has inputs, or a Loop or Scan body has more inputs than its node feeds.

    What it does:
        Counts the inputs of each body without its initializers.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model ("Graph has 4 inputs but 3 were provided",
        "Size mismatch validating subgraph inputs"). irloop and OpenVINO use the outer value of the
        same name, if there is one.
    Bad example:
        then_branch = yes (float[2] x) => (float[2] a) { a = Abs (x) }
    Good example:
        then_branch = yes () => (float[2] a) { a = Abs (x) }
    Fix:
        Remove the inputs: bodies read outer values by name.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per body that has more inputs than its node feeds."""
        for node in context.nodes("If", "Loop", "Scan"):
            fed = {"If": 0, "Loop": max(2, len(node.inputs))}.get(node.type, len(node.inputs))
            for body in node.bodies.values():
                if len(body.inputs) > fed:
                    yield self.found(
                        at_graph(body),
                        f"a body of {node.type} {node.label!r} has inputs that nothing feeds",
                        expected=f"at most {fed} inputs",
                        found=", ".join(body.inputs[fed:]),
                        fix="remove them: bodies read outer values by name",
                    )
