"""ORT101: a Scan body returns its own input."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.results import passed_on
from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node

__all__ = ["BodyReturnsItsInput"]


class BodyReturnsItsInput(
    Fault,
    code="ORT101",
    engine="onnxruntime",
    title="A Scan body returns its own input",
    effect=Effect.WRONG,
    rule="ONX310",
    passes=("separate_results",),
):
    """A Scan body returns its own input.

    What happens:
        The scan output contains zeros or uninitialised memory, and a state that is returned
        unchanged loses its value. There is no error. Turning optimisations off does not help.
    Where:
        A body result is a body input: a state, an element of a scan input, or the iteration number.
        An Identity between the two does not help, because ONNX Runtime's optimiser removes it.
    What irloop does:
        Conversion to ONNX copies such a value with an operation that no optimiser removes.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.Scan | onnx.Scan8):
            for result in passed_on(node.body()):
                yield f"result {result.name!r} of the body is one of its inputs"


@BodyReturnsItsInput.case(
    "scan_body_passes_a_state_on",
    "Scan: results of the body",
    "ONNX Scan-16",
    (
        "The scan operation returns the final values of the state_variables as well as the "
        "scan_outputs."
    ),
    run([[10, 20], [[1, 2], [3, 4], [5, 6]]], [[10, 20], [[11, 22], [13, 24], [15, 26]]]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2] h, float[3, 2] x) => (float[2] y, float[3, 2] z) {
  y, z = Scan <num_scan_inputs = 1,
    body = b (float[2] a, float[2] e) => (float[2] a, float[2] s) { s = Add (a, e) }> (h, x)
}""")
