"""ORT111: a branch returns one value as two results."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.results import repeated

__all__ = ["BranchValueReturnedTwice"]


class BranchValueReturnedTwice(
    Hazard,
    code="ORT111",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A branch returns one value as two results",
    effect=Effect.WRONG,
    case="if_returns_one_value_twice",
    rule="ONX402",
    passes=("separate_results",),
):
    """A branch returns one value as two results.

    What happens:
        One of the two outputs of the If is never written.
    Where:
        A name occurs twice among the outputs of a branch.
    What irloop does:
        Conversion to ONNX copies the value in the body.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.If):
            for body in node.bodies:
                for result in repeated(body):
                    yield f"{body.label} returns the value of {result.name!r} twice"
