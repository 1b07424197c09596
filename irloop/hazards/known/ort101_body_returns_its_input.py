"""ORT101: a Scan body returns its own input."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.results import passed_on

__all__ = ["BodyReturnsItsInput"]


class BodyReturnsItsInput(
    Hazard,
    code="ORT101",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="A Scan body returns its own input",
    effect=Effect.WRONG,
    case="scan_body_passes_a_state_on",
    rule="ONX310",
    passes=("separate_results",),
):
    """A Scan body returns its own input.

    What happens:
        The scan output holds zeros or memory that nothing was written to, and a state that is
        passed on loses its value. Nothing is reported. Turning optimisations off does not help.
    Where:
        A body result is a body input: a state, an element of a scan input, or the number of the
        iteration. An Identity between the two is removed by ONNX Runtime's optimiser, so that it
        does not help.
    What irloop does:
        Conversion to ONNX copies such a value by an operation that no optimiser removes.
    """

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.Scan | onnx.Scan8):
            for result in passed_on(node.body()):
                yield f"result {result.name!r} of the body is one of its inputs"
