"""ORT113: a reduction, along a negative axis, of a tensor without elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.reduction import ByAttribute, ByInput
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import may_be_empty

__all__ = ["ReductionOfNothing"]


class ReductionOfNothing(
    Hazard,
    code="ORT113",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="A reduction, along a negative axis, of a tensor without elements",
    effect=Effect.WRONG,
    case="loop_reduces_a_buffer_along_the_last_axis",
    fix="Make the axes non-negative.",
):
    """A reduction, along a negative axis, of a tensor without elements.

    What happens:
        The axis is not reduced: ReduceSum of [2,0] along axis -1 gives [2,0], not [2].
    Where:
        ReduceSum, ReduceMax and the like with a negative axis, of a tensor whose dimensions are not
        all known.
    What irloop does:
        Conversion to ONNX makes all axes non-negative.
    """

    operations = (ByAttribute, ByInput)

    def find(self, node: Node) -> Iterator[str]:
        data = node.inputs[0] if isinstance(node.op, ByAttribute | ByInput) else None
        if data is None:
            return
        if any(axis < 0 for axis in _axes(node)) and may_be_empty(shape_of(data)):
            yield f"{node.op.type} {node.name!r} has negative axes"


def _axes(node: Node) -> tuple[int, ...]:
    """The constant axes of a reduction; none if they are computed."""
    if isinstance(node.op, ByAttribute):
        return tuple(node.op.axes or ())
    axes = node.inputs[1] if len(node.inputs) > 1 else None
    if axes is None or not isinstance(axes.producer.op, Constant):
        return ()
    return tuple(int(axis) for axis in axes.producer.op.tensor.numpy().reshape(-1))
