"""Inference shared by operations of both dialects."""

from __future__ import annotations

from irloop.graph.inference import Arguments
from irloop.graph.types import ElementType, TensorType, ValueType, broadcast_shapes

__all__ = ["broadcast", "same_as_first", "same_element"]


def same_element(args: Arguments, *positions: int) -> ElementType:
    """The one element type of several inputs (all of them when no position is given).

    Raises:
        InferenceError: when two of them differ.
    """
    found = ElementType.DYNAMIC
    for position in positions or range(len(args)):
        if not args.has(position):
            continue
        element = args.element(position)
        if found is ElementType.DYNAMIC:
            found = element
        elif element not in (found, ElementType.DYNAMIC):
            raise args.error("operands differ in element type", str(found), str(element))
    return found


def broadcast(args: Arguments, element: ElementType | None = None) -> list[ValueType]:
    """All inputs broadcast as in NumPy; the element type is theirs unless given.

    Raises:
        InferenceError: when shapes or element types do not fit each other.
    """
    found = same_element(args)
    shapes = [args.shape(position) for position in range(len(args))]
    shape = broadcast_shapes(shapes)
    if shape is None:
        text = " and ".join(str(item) for item in shapes)
        raise args.error("shapes cannot be broadcast", "dimensions equal or 1", text)
    return [TensorType(found if element is None else element, shape)]


def same_as_first(args: Arguments) -> list[ValueType]:
    """The output has the type of the first input."""
    return [args.tensor(0)]
