"""ONX309: scanned value changes its shape."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node, slice_shape
from irloop.validation.rule import FILE, OnnxRule


class VaryingSlice(
    OnnxRule,
    code="ONX309",
    severity=Severity.ERROR,
    title="scanned value changes its shape",
    requires=("ONX101",),
    scope=FILE,
):
    """A scan output collects a state whose shape changes from iteration to iteration.

    What it does:
        Looks for scan outputs that are, directly or through Identity, a state whose declared shape
        differs before and after the body.
    Why is this bad:
        Values of different shapes cannot be stacked. ONNX Runtime fails when it runs; OpenVINO
        returns uninitialised memory without any error.
    Bad example:
        a state [1] that becomes [2], and is also a scan output
    Good example:
        only the new element as scan output
    Fix:
        Scan something that keeps its shape, or give out the last value.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding an output."""
        for node, body in context.loops():
            changing: dict[str, str] = {}
            for _, before, after in context.states(node, body):
                first, then = slice_shape(body.type_of(before)), slice_shape(body.type_of(after))
                if first is not None and then is not None and first.refine(then) is None:
                    changing[context.source(body, after)] = before
                    changing[before] = before
            for name in body.outputs[len(body.inputs) - 1 :]:
                state = changing.get(context.source(body, name))
                if state is not None:
                    yield self.found(
                        at_node(node),
                        f"the scan output {name!r} of Loop {node.label!r} changes its shape",
                        expected="the same shape in each iteration",
                        found=f"the state {state!r}, which grows or shrinks",
                        fix="scan something that keeps its shape, or give out the last value",
                    )
