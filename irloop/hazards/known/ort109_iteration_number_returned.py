"""ORT109: a Loop body returns its iteration number."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.results import iteration_numbers

__all__ = ["IterationNumberReturned"]


class IterationNumberReturned(
    Hazard,
    code="ORT109",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A Loop body returns its iteration number",
    effect=Effect.WRONG,
    case="loop_body_returns_its_iteration_number",
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
