"""ORT115: Unique along an axis of a tensor whose other axes are empty."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import may_be_empty
from irloop.dialects.onnx.search import Unique
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.graph.types import Shape

__all__ = ["UniqueOfNothing"]


class UniqueOfNothing(
    Fault,
    code="ORT115",
    engine="onnxruntime",
    title="Unique along an axis of a tensor whose other axes are empty",
    effect=Effect.CRASH,
    fix="Give the other axes at least one element.",
):
    """Unique along an axis of a tensor whose other axes are empty.

    What happens:
        The process is aborted. By the specification the result is one slice, because empty slices
        are all equal.
    Where:
        Unique has an axis, and another dimension of its input is 0 or not known before the model
        runs. An empty axis itself, and Unique without an axis, have no such fault.
    What irloop does:
        Nothing: a converted model has such a Unique only if the source has it.
    """

    concerns_conversion = False
    operations = (Unique,)

    def find(self, node: Node) -> Iterator[str]:
        data = node.inputs[0] if isinstance(node.op, Unique) else None
        if data is None or not isinstance(node.op, Unique) or node.op.axis is None:
            return
        dims = shape_of(data).dims
        if dims is None or not -len(dims) <= node.op.axis < len(dims):
            return
        axis = node.op.axis % len(dims)
        if may_be_empty(Shape(dims[:axis] + dims[axis + 1 :])):
            yield f"the axes of {data.name!r} beside axis {axis} may be empty"


@UniqueOfNothing.case(
    "unique_of_empty_rows",
    "ONNX: empty tensors, omitted inputs",
    "ONNX Unique-11",
    "the unique subtensors sliced along the axis: two rows without elements are equal.",
    run([[[1, 2], [1, 2]]], [[[1, 2]]]),
    run([empty(2, 0)], [empty(1, 0)]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2, n] x) => (float[m, n] y) { y = Unique <axis = 0> (x) }""")
