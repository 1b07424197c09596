"""ORT109: a Loop body returns its iteration number."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.results import iteration_numbers
from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node

__all__ = ["IterationNumberReturned"]


class IterationNumberReturned(
    Fault,
    code="ORT109",
    engine="onnxruntime",
    title="A Loop body returns its iteration number",
    effect=Effect.WRONG,
    rule="ONX312",
    passes=("separate_results",),
):
    """A Loop body returns its iteration number.

    What happens:
        Every element of a scan output is the last iteration number; a state is too large by one.
    Where:
        The first input of a Loop body is also one of its outputs.
    What irloop does:
        Conversion to ONNX copies the value in the body.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.Loop):
            for result in iteration_numbers(node.body()):
                yield f"result {result.name!r} of the body is the iteration number"


@IterationNumberReturned.case(
    "loop_body_returns_its_iteration_number",
    "Loop: scan outputs",
    "ONNX Loop-16",
    (
        "Each scan_output is created by concatenating the value of the specified output value at "
        "the end of each iteration of the loop."
    ),
    run([4, 1], [16, [0, 1, 2, 3]]),
    run([0, 1], [1, empty(0)]),
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, float x) => (float y, int64[k] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, int64 i) {
    d = Identity (c)  r = Add (a, a)
  }> (n, "", x)
}""")
