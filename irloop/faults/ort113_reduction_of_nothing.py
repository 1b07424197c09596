"""ORT113: a reduction, along a negative axis, of a tensor without elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.operands import axes_of
from irloop.analysis.patterns import may_be_empty
from irloop.dialects.onnx.reduction import ByAttribute, ByInput
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Node

__all__ = ["ReductionOfNothing"]


class ReductionOfNothing(
    Fault,
    code="ORT113",
    engine="onnxruntime",
    title="A reduction, along a negative axis, of a tensor without elements",
    effect=Effect.WRONG,
    fix="Make the axes non-negative.",
):
    """A reduction, along a negative axis, of a tensor without elements.

    What happens:
        The axis is not reduced: ReduceSum of [2,0] along axis -1 gives [2,0], not [2].
    Where:
        ReduceSum, ReduceMax and the like with a negative axis, of a tensor whose dimensions are not
        all known.
    What irloop does:
        Conversion to ONNX makes all axes non-negative.
    """

    operations = (ByAttribute, ByInput)

    def find(self, node: Node) -> Iterator[str]:
        data = node.inputs[0] if isinstance(node.op, ByAttribute | ByInput) else None
        if data is None:
            return
        if any(axis < 0 for axis in axes_of(node) or ()) and may_be_empty(shape_of(data)):
            yield f"{node.op.type} {node.name!r} has negative axes"


@ReductionOfNothing.case(
    "loop_reduces_a_buffer_along_the_last_axis",
    "Loop: states",
    "ONNX Loop-16",
    (
        "The loop operation node supplies the input value of the input variable for the first "
        "iteration, and returns the output value of the output variable produced by the final "
        "iteration."
    ),
    # Each iteration appends 1 plus the sum of all elements before it.
    run([2, [5]], [[5, 6, 12]]),
    run([3, empty(0)], [[1, 2, 4]]),
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, float[k] x) => (float[m] y) {
  y = Loop <body = b (int64 i, bool c, float[p] a) => (bool d, float[q] r) {
    d = Identity (c)  last = Constant <value_ints = [-1]> ()
    s = ReduceSum <keepdims = 1> (a, last)  one = Constant <value_floats = [1.0]> ()
    t = Add (s, one)  r = Concat <axis = 0> (a, t)
  }> (n, "", x)
}""")
