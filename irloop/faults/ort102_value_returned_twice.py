"""ORT102: a Scan body returns one value as two results."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.results import repeated
from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node

__all__ = ["ValueReturnedTwice"]


class ValueReturnedTwice(
    Fault,
    code="ORT102",
    engine="onnxruntime",
    title="A Scan body returns one value as two results",
    effect=Effect.WRONG,
    rule="ONX310",
    passes=("separate_results",),
):
    """A Scan body returns one value as two results.

    What happens:
        One of the two results is never written: the last state of a Scan contains garbage.
    Where:
        Two results of a Scan body are the same value, for example a state that
        is also a scan output.
    What irloop does:
        Conversion to ONNX copies the value for one of the two results.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.Scan | onnx.Scan8):
            for result in repeated(node.body()):
                yield f"the value of result {result.name!r} of the body is an earlier result"


@ValueReturnedTwice.case(
    "scan_body_returns_a_value_as_state_and_scan_output",
    "Scan: results of the body",
    "ONNX Scan-16",
    (
        "The scan_output of the operation is produced by concatenating the scan_output_element "
        "values produced by the body in each iteration."
    ),
    run([[0, 1], [[1, 2], [3, 4], [5, 6]]], [[9, 13], [[1, 3], [4, 7], [9, 13]]]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2] h, float[3, 2] x) => (float[2] y, float[3, 2] z) {
  y, z = Scan <num_scan_inputs = 1,
    body = b (float[2] a, float[2] e) => (float[2] r, float[2] r) { r = Add (a, e) }> (h, x)
}""")
