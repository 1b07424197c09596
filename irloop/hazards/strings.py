"""Finds operations on strings that OpenVINO's CPU plugin refuses, or that damage its memory."""

from __future__ import annotations

from irloop.dialects.openvino import gather, reorder, scatter, shape, slicing
from irloop.dialects.openvino.comparison import Select
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["MOVING", "moved_strings"]

#: The inputs that each operation moves elements of. Gather, Concat, Transpose, Reshape, Squeeze and
#: Unsqueeze, which also move elements, run with strings.
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

#: Operations that move elements, but not strings.
MOVING = tuple(_DATA)


def moved_strings(node: Node) -> tuple[int, ...]:
    """The inputs with strings that an operation moves; empty if it moves no strings."""
    places = _DATA.get(type(node.op), ())
    if not places or element_of(node.outputs[0]) is not ElementType.STRING:
        return ()
    return places
