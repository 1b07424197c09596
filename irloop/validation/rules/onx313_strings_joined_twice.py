"""ONX313: a Loop collects one tensor of strings more than once."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.types import ElementType
from irloop.validation.onnx_context import OnnxContext, at_node, element_of
from irloop.validation.rule import FILE, OnnxRule


class StringsJoinedTwice(
    OnnxRule,
    code="ONX313",
    severity=Severity.WARNING,
    title="a Loop collects one tensor of strings more than once",
    requires=("ONX101",),
    scope=FILE,
):
    """A scan output of a Loop collects strings of a body input or of another scan output.

    What it does:
        Looks for scan outputs of strings that are an input of the body, directly or through
        Identity, or that another scan output also collects.
    Why is this bad:
        The specification allows it. But ONNX Runtime moves the strings of each part into the scan
        output: if a part is collected twice, or is a state that is returned unchanged, the second
        and all later copies are empty strings. There is no message.
    Bad example:
        Loop body (i, go, words) => (go, words, words)
    Good example:
        Loop body (i, go, words) => (go, words, copy) {
          shape = Shape(words) copy = Reshape(words, shape)
        }
    Fix:
        Return a Reshape of the strings to their own shape (an Identity shares the tensor of a
        state): irloop transform --pass separate_results.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per scan output that repeats strings of an input or an earlier output."""
        for node, body in context.loops():
            joined = body.outputs[len(body.inputs) - 1 :]
            for index, name in enumerate(joined):
                if element_of(body.type_of(name)) is not ElementType.STRING:
                    continue
                passed = context.source(body, name) in body.inputs
                if passed or name in joined[:index]:
                    yield self.found(
                        at_node(node),
                        f"the body of Loop {node.label!r} collects the strings {name!r}, "
                        + ("which are its own input" if passed else "which it already collects"),
                        expected="strings that the body computes for each scan output",
                        found=f"{name!r} as scan output {index}",
                        cause="ONNX Runtime leaves empty strings in the second copy and in all "
                        "later ones",
                        fix=f"return a Reshape of {name!r} to its own shape",
                    )
