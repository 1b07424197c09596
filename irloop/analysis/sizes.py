"""Finds operations that OpenVINO wrongly removes: Abs and Convert of sizes."""

from __future__ import annotations

from irloop.analysis.sources import sources
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3, Squeeze
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType

__all__ = ["is_running_sum", "is_size", "narrowed", "narrows_a_size_with_sign"]

_SIGNED = frozenset({ElementType.I4, ElementType.I8, ElementType.I16})


def narrows_a_size_with_sign(node: Node) -> bool:
    """Return whether `node` converts a size to a narrow signed type, and OpenVINO may bound that
    size.

    The result is false if the Convert reads a running sum (see `is_running_sum`), because OpenVINO
    does not compute bounds through it.
    """
    value = narrowed(node)
    if value is None or is_running_sum(value) or element_of(node.output) not in _SIGNED:
        return False
    return is_size(value)


def is_running_sum(value: Value) -> bool:
    """Return whether `value` is a Squeeze of a CumSum.

    Conversion inserts these two to copy a size: a CumSum along an axis of size 1 changes nothing,
    and OpenVINO does not compute bounds through it.
    """
    node = value.producer
    if not isinstance(node.op, Squeeze) or node.inputs[0] is None:
        return False
    return isinstance(node.inputs[0].producer.op, CumSum)


def narrowed(node: Node) -> Value | None:
    """Return the input of `node` if it is a Convert to a narrow type, else None.

    Narrow types are boolean and integers of fewer than 32 bits: they cannot hold every size. The
    result is also None if the input already has a narrow type.
    """
    value = node.inputs[0] if isinstance(node.op, Convert) else None
    if value is None or _is_narrow(element_of(value)) or not _is_narrow(element_of(node.output)):
        return None
    return value


def _is_narrow(element: ElementType) -> bool:
    """Return whether a type cannot hold every size."""
    return element is ElementType.BOOLEAN or (element.is_integer and element.bits < 32)


def is_size(value: Value) -> bool:
    """Return whether `value` is computed from the shape of some tensor, by a ShapeOf."""
    return any(isinstance(node.op, ShapeOf | ShapeOf3) for node in sources([value.producer]))
