"""OVN124: a loop output that is a model output and read by other operations."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import is_result, reads_earlier_memory

__all__ = ["LoopOutputIsAnOutput"]


class LoopOutputIsAnOutput(
    Hazard,
    code="OVN124",
    engine="openvino",
    versions=("2026.4.1",),
    title="A loop output that is a model output and read by other operations",
    effect=Effect.STALE,
    minimal=False,
    case="openvino_loop_is_an_output",
    fix="Let the other operations read Maximum(y, y), or use one inference request.",
):
    """A loop output that is a model output and read by other operations.

    What happens:
        The output has different memory in each inference request, but SoftMax and MatMul keep
        reading the memory of the first request: they compute with values of an earlier inference.
        With one request for all inferences, as in the conformance suite, the results are right.
    Where:
        An output of unknown size of a Loop or TensorIterator is an output of the model. An
        operation other than ShapeOf, Slice or the maximum of the output with itself reads it, too.
    What irloop does:
        Conversion to IR lets the other operations read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            if is_result(value) and reads_earlier_memory(value):
                yield f"output {value.index} is an output of the model and read by others"
