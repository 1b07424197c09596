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
    versions=("1.31.1", "1.32.0"),
    title="A Scan body returns its own input",
    effect=Effect.WRONG,
    case="scan_body_passes_a_state_on",
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
