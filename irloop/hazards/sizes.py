"""Computations with sizes that OpenVINO leaves out."""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Abs
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.memory import is_copy

__all__ = ["loses_its_sign", "narrows_a_size"]

#: The most operations that are looked at between a size and what is computed from it.
_SOURCES = 64


def narrows_a_size(node: Node) -> bool:
    """True for a Convert of a size to boolean or few bits that a Convert to another type reads."""
    given = node.inputs[0] if isinstance(node.op, Convert) else None
    if given is None or not _is_narrow(element_of(node.output)):
        return False
    if _is_narrow(element_of(given)) or is_copy(given) or not _is_size(given):
        return False
    return any(isinstance(user.op, Convert) for user, _ in node.output.uses)


def loses_its_sign(node: Node) -> bool:
    """True for an Abs that is computed from the shapes of values and constants alone."""
    if not isinstance(node.op, Abs):
        return False
    seen, pending, of_shape = {node}, [node], False
    while pending and len(seen) < _SOURCES:
        found = pending.pop()
        if isinstance(found.op, ShapeOf | ShapeOf3):
            of_shape = True
            continue
        if not found.inputs and not isinstance(found.op, Constant):
            return False
        more = {item.producer for item in found.inputs if item is not None} - seen
        seen |= more
        pending += more
    return of_shape and not pending


def _is_narrow(element: ElementType) -> bool:
    """True for types that cannot hold every size."""
    return element is ElementType.BOOLEAN or (element.is_integer and element.bits < 32)


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
