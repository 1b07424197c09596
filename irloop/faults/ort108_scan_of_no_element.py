"""ORT108: a Scan that has scan outputs and runs over an empty axis."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.loops import ScanInput, ScanOutput
from irloop.graph.model import Node

__all__ = ["ScanOfNoElement"]


class ScanOfNoElement(
    Fault,
    code="ORT108",
    engine="onnxruntime",
    title="A Scan that has scan outputs and runs over an empty axis",
    effect=Effect.REFUSAL,
    passes=("scan_to_loop",),
    fix="Give the axis at least one element, or replace the Scan by a Loop: irloop transform "
    "--pass scan_to_loop.",
):
    """A Scan that has scan outputs and runs over an empty axis.

    What happens:
        The inference ends with an error when the scanned axis has length 0. By the specification
        there are no iterations, and the scan outputs are empty.
    Where:
        The length of a scanned axis is unknown before the model runs.
    What irloop does:
        A Scan converted from a Loop of IR, which may run zero times, is in an If, which runs it
        only if there is an element. A Scan converted from a TensorIterator runs at least one
        iteration, because OpenVINO allows no TensorIterator over an empty axis.
    """

    concerns_conversion = False

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, onnx.Scan):
            return
        ports = node.body().ports
        if not any(isinstance(port, ScanOutput) for port in ports.outputs):
            return
        for port in ports.inputs:
            outer = node.inputs[port.external]
            if isinstance(port, ScanInput) and outer is not None:
                shape = shape_of(outer)
                if shape.rank is None or not isinstance(shape.dim(port.axis), int):
                    yield f"the length of axis {port.axis} of {outer.name!r} is not known"
                    return


@ScanOfNoElement.case(
    "scan_of_no_element",
    "Scan: states and elements",
    "ONNX Scan-16",
    "sequence_length = scan_1.shape[axis_1]; for (int t = 0; t < sequence_length; ++t) { ... }",
    run([[5, 6], [[1, 2]]], [[6, 8], [[-6, -8]]]),
    run([[5, 6], empty(0, 2)], [[5, 6], empty(0, 2)]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2] h, float[n, 2] x) => (float[2] y, float[n, 2] z) {
  y, z = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e)
      => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (r) }> (h, x)
}""")
