"""Finds operations on strings that engines refuse or compute wrongly."""

from __future__ import annotations

from irloop.dialects.onnx.gather import Gather as OnnxGather
from irloop.dialects.openvino import gather, reorder, scatter, shape, slicing
from irloop.dialects.openvino.comparison import Select
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["MOVING", "gathers_parts_of_strings", "moved_strings"]

#: The inputs of which operations of OpenVINO move elements. Its CPU plugin runs Gather, Concat,
#: Transpose, Reshape, Squeeze and Unsqueeze with strings; these move elements, too.
_DATA: dict[type[Op], tuple[int, ...]] = {
    slicing.Slice: (0,),
    slicing.StridedSlice: (0,),
    slicing.Split: (0,),
    slicing.VariadicSplit: (0,),
    shape.Broadcast: (0,),
    shape.Broadcast3: (0,),
    shape.Tile: (0,),
    gather.GatherElements: (0,),
    gather.GatherND: (0,),
    gather.GatherND8: (0,),
    reorder.ReverseSequence: (0,),
    reorder.Roll: (0,),
    Select: (1, 2),
    scatter.ScatterUpdate: (0, 2),
    scatter.ScatterElementsUpdate: (0, 2),
    scatter.ScatterNDUpdate: (0, 2),
}

#: Operations that move elements; the plugin refuses strings, or they damage its memory.
MOVING = tuple(_DATA)


def moved_strings(node: Node) -> tuple[int, ...]:
    """Return the positions of the inputs whose strings `node` copies to its output.

    For example, the result is (1, 2) for an OpenVINO Select between strings. The result is empty
    unless `node` is an OpenVINO operation on strings that the CPU plugin cannot run.
    """
    places = _DATA.get(type(node.op), ())
    if not places or element_of(node.outputs[0]) is not ElementType.STRING:
        return ()
    return places


def gathers_parts_of_strings(node: Node) -> bool:
    """Return whether an ONNX Gather of strings may copy slices that contain several strings."""
    data = node.inputs[0] if isinstance(node.op, OnnxGather) else None
    if data is None or not isinstance(node.op, OnnxGather):
        return False
    if element_of(data) is not ElementType.STRING:
        return False
    dims = shape_of(data).dims
    return dims is None or any(dim != 1 for dim in dims[node.op.axis :][1:])
