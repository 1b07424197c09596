"""ORT102: a Scan body returns one value as two results."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.results import repeated

__all__ = ["ValueReturnedTwice"]


class ValueReturnedTwice(
    Hazard,
    code="ORT102",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A Scan body returns one value as two results",
    effect=Effect.WRONG,
    case="scan_body_returns_a_value_as_state_and_scan_output",
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
