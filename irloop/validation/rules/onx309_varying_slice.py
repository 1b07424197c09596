"""ONX309: value of a scan output changes its shape."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.onnx_bodies import InferredBody
from irloop.validation.onnx_context import OnnxContext, at_node, shape_of
from irloop.validation.rule import FILE, OnnxRule


class VaryingSlice(
    OnnxRule,
    code="ONX309",
    severity=Severity.WARNING,
    title="value of a scan output changes its shape",
    requires=("ONX101",),
    scope=FILE,
):
    """A scan output collects a value whose shape changes from iteration to iteration.

    What it does:
        Infers the shapes of the scan outputs of each body in the first and in the second iteration,
        and compares them. Loops with at most one iteration are not checked.
    Why is this bad:
        Values of different shapes cannot be stacked. ONNX Runtime fails when it runs more than one
        iteration; OpenVINO returns uninitialised memory without an error.
    Bad example:
        a state [1] that becomes [2], and is also a scan output
    Good example:
        only the new element as scan output
    Fix:
        Collect a value that keeps its shape in the scan output, or return the last value.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Report each scan output whose body value changes its shape between iterations.

        The shapes in the first two iterations are compared.
        """
        for typed in context.bodies:
            is_scan = typed.node.type == "Scan"
            scanned = typed.node.number("num_scan_inputs") if is_scan else 1
            first = max(len(typed.body.inputs) - scanned, 0)
            parts = [shape_of(type) for type in typed.computed[first:]]
            steady = all(part is not None and part.is_static for part in parts)
            if typed.node.type == "If" or steady or _ends_at_once(context, typed):
                continue
            yield from self._changes(typed, first)

    def _changes(self, typed: InferredBody, first: int) -> Iterator[Diagnostic]:
        before, after = typed.two_iterations()
        for index, name in enumerate(typed.body.outputs[first:], first):
            left, right = shape_of(before[index]), shape_of(after[index])
            if left is not None and right is not None and left.refine(right) is None:
                yield self.found(
                    at_node(typed.node),
                    f"the scan output {name!r} of {typed.node.type} {typed.node.label!r} changes "
                    "its shape",
                    expected="the same shape in each iteration",
                    found=f"{left} in the first, {right} in the second",
                    fix="collect a value of constant shape in the scan output, or return only "
                    "the last value",
                )


def _ends_at_once(context: OnnxContext, typed: InferredBody) -> bool:
    if typed.node.type != "Loop":
        return False
    trips, goes_on = context.trip_count(typed.node), typed.body.constant_of(typed.body.outputs[0])
    return (trips is not None and trips < 2) or (goes_on is not None and not goes_on[0])
