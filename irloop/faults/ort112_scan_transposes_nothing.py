"""ORT112: a Scan slices or joins a tensor without elements along an axis other than 0."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import scanned_across
from irloop.dialects.onnx.control_flow import Scan
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import ScanInput
from irloop.graph.model import Node

__all__ = ["ScanTransposesNothing"]


class ScanTransposesNothing(
    Fault,
    code="ORT112",
    engine="onnxruntime",
    title="A Scan along an axis other than 0 of a tensor without elements",
    effect=Effect.CRASH,
    passes=("scan_to_loop",),
    fix="Transpose before and after the Scan, or replace it by a Loop: irloop transform --pass "
    "scan_to_loop.",
    avoided_by=("scan_axes",),
):
    """A Scan along an axis other than 0 of a tensor without elements.

    What happens:
        ONNX Runtime transposes the tensor so that the scanned or joined axis comes first. It
        divides by a dimension of 0, and the process ends with SIGFPE.
    Where:
        scan_input_axes or scan_output_axes names an axis other than 0, and another dimension is 0
        or not known before the model runs.
    What irloop does:
        Conversion to ONNX writes such a Scan along axis 0, with a Transpose before or after it.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in scanned_across(node) if isinstance(node.op, Scan) else ():
            kind, number = "input" if isinstance(port, ScanInput) else "output", port.external + 1
            name = f"{kind} {number} of {node.name!r}"
            yield f"{name} is scanned along axis {port.axis} and may be empty"


@ScanTransposesNothing.case(
    "scan_along_axis_1_of_empty_elements",
    "Scan: axes",
    "ONNX Scan-16",
    (
        "scan_output_axes specifies the axis for the i-th scan_output. The scan outputs are "
        "accumulated along the specified axis."
    ),
    run([[[1, 2, 3], [4, 5, 6]]], [[[-1, -2, -3], [-4, -5, -6]]]),
    run([empty(0, 3)], [empty(0, 3)]),
)
def smallest() -> str:
    return onnx_text("""
g (float[m, 3] x) => (float[m, 3] z) {
  z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
    body = b (float[m] e) => (float[m] s) { s = Neg (e) }> (x)
}""")
