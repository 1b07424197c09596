"""Casts elements of narrow types to a wider type around ONNX operations that cannot move them.

OpenVINO moves elements of every type. Most ONNX operations that only move elements accept no 4-bit
integers and no 8-bit floats, and ONNX Runtime lacks kernels for some that the standard allows
(`OnnxOp.not_moved`). A Cast before such an operation converts to a type that holds every value of
the narrow type, and a Cast after it converts back.
"""

from __future__ import annotations

from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.convert import Cast6
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Node, Value
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_graphs

__all__ = ["CARRIERS", "carry_narrow_elements"]

#: For each narrow type, the type that carries it, which holds all its values.
CARRIERS = {
    ElementType.U2: ElementType.U8,
    ElementType.U4: ElementType.U8,
    ElementType.I2: ElementType.I8,
    ElementType.I4: ElementType.I8,
    ElementType.I16: ElementType.I32,
    ElementType.U16: ElementType.I32,
}


def carry_narrow_elements(graph: Graph) -> bool:
    """Add casts around operations that cannot move narrow elements, in a graph and its bodies.

    Given Gather(i4[8], indices); result: Cast to i8, Gather, Cast to i4. Returns whether a cast was
    added.
    """
    modified = False
    for each in all_graphs(graph):
        rewriter = Rewriter(each)
        for node in list(each.nodes):
            elements = node.op.not_moved if isinstance(node.op, OnnxOp) else frozenset()
            if elements and any(element_of(value) in elements for value in node.outputs):
                _carry(rewriter, node, elements)
        modified |= rewriter.modified
    return modified


def _carry(rewriter: Rewriter, node: Node, elements: frozenset[ElementType]) -> None:
    for position, value in enumerate(node.inputs):
        if value is not None and element_of(value) in elements:
            wide = _cast(rewriter, value, _carrier(value), node, f"{node.name}/carried_{position}")
            rewriter.set_input(node, position, wide)
    after = node.following
    for value in node.outputs:
        if element_of(value) not in elements:
            continue
        narrow, names, uses = element_of(value), value.names, list(value.uses)
        value.type = TensorType(_carrier(value), shape_of(value))
        back = _cast(rewriter, value, narrow, after, f"{node.name}/back_{value.index}")
        value.names, back.names = (), names
        for user, position in uses:
            rewriter.set_input(user, position, back)


def _carrier(value: Value) -> ElementType:
    return CARRIERS.get(element_of(value), ElementType.F32)


def _cast(
    rewriter: Rewriter, value: Value, element: ElementType, before: Node | None, name: str
) -> Value:
    type = TensorType(element, shape_of(value))
    return rewriter.insert(Cast6(element), (value,), before=before, name=name, types=(type,)).output
