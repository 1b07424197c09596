"""Computations with sizes that OpenVINO replaces by the sizes themselves."""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType

__all__ = ["flags_a_size"]

#: The most operations that are looked at between a size and its conversion.
_SOURCES = 64


def flags_a_size(node: Node) -> bool:
    """True for a Convert of a size to boolean that a Convert to another type reads."""
    given = node.inputs[0] if isinstance(node.op, Convert) else None
    if given is None or element_of(node.output) is not ElementType.BOOLEAN:
        return False
    if element_of(given) is ElementType.BOOLEAN or not _is_size(given):
        return False
    return any(isinstance(user.op, Convert) for user, _ in node.output.uses)


def _is_size(value: Value) -> bool:
    """True for a value that is computed from the shape of another one."""
    seen = {value.producer}
    pending = [value.producer]
    while pending and len(seen) < _SOURCES:
        node = pending.pop()
        if isinstance(node.op, ShapeOf | ShapeOf3):
            return True
        found = {item.producer for item in node.inputs if item is not None} - seen
        seen |= found
        pending += found
    return False
