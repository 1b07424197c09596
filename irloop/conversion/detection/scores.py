"""Constants and ONNX forms for operations that rank elements by score and select the best."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.dialects.writing.sizes import Size
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["LOWEST", "OUT", "at_least", "places"]

#: The score of an element that is not a candidate.
OUT = float("-inf")
#: The lowest finite f32; elements with scores above it are candidates.
LOWEST = -3.4028234663852886e38


def at_least(c: Export, left: Value, right: Value) -> Value:
    """left >= right."""
    return c.logical_not(c.less(left, right))


def places(c: Export, count: Size, element: ElementType = ElementType.I64) -> Value:
    """The vector 0, 1, ... count - 1."""
    if isinstance(count, int):
        return c.constant(list(range(count)), element)
    return c.convert(c.numbers_below(c.squeeze(count, [0])), element)
