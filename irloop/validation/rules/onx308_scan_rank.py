"""ONX308: scan output has a wrong rank."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_context import OnnxContext, at_node, scan_shape
from irloop.validation.rule import FILE, OnnxRule


class ScanRank(
    OnnxRule,
    code="ONX308",
    severity=Severity.WARNING,
    title="scan output has a wrong rank",
    requires=("ONX101",),
    scope=FILE,
):
    """The declared rank of a Loop's scan output is not one more than the rank of the body output.

    What it does:
        Compares the declared rank of each scan output with that of its body output.
    Why is this bad:
        ONNX stacks the values of the iterations along a new axis. A declaration without it was
        written for an engine that concatenates along an existing axis (OpenVINO, onnx.reference);
        ONNX Runtime warns or refuses.
    Bad example:
        a body output [1,4] and a Loop output declared [n,4]
    Good example:
        a body output [4] and a Loop output declared [n,4]
    Fix:
        Squeeze the value in the body, or declare the stacked shape.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each scan output of a Loop that has a wrong rank.

        The rank must be one more than the rank of the body output whose values are stacked.
        """
        for node, body in context.loops():
            count = len(body.inputs) - 2
            inner, outer = body.outputs[1 + count :], node.outputs[count:]
            for slice_name, name in zip(inner, outer, strict=False):
                part = scan_shape(body.type_of(slice_name))
                stacked = scan_shape(node.graph.type_of(name))
                if part is None or stacked is None or not name:
                    continue
                if part.rank is None or stacked.rank == part.rank + 1:
                    continue
                yield self.found(
                    at_node(node),
                    f"the scan output {name!r} of Loop {node.label!r} has a wrong rank",
                    expected=f"rank {part.rank + 1}: one axis before {part}",
                    found=str(stacked),
                    fix="squeeze the value in the body, or declare the stacked shape",
                )
