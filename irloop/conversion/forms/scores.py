"""Constants and ONNX forms for operations that rank elements by score and select the best."""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms.sizes import Size
from irloop.conversion.framework.translation import Conversion
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["LOWEST", "OUT", "at_least", "places"]

#: The score of an element that is not a candidate.
OUT = float("-inf")
#: The lowest finite f32; elements with scores above it are candidates.
LOWEST = -3.4028234663852886e38


def at_least(c: Conversion, left: Value, right: Value) -> Value:
    """left >= right."""
    return forms.logical_not(c, forms.less(c, left, right))


def places(c: Conversion, count: Size, element: ElementType = ElementType.I64) -> Value:
    """The vector 0, 1, ... count - 1."""
    if isinstance(count, int):
        return c.constant(list(range(count)), element)
    limit = forms.squeeze(c, count, [0])
    return forms.convert(c, forms.range_(c, c.i64(0), limit, c.i64(1)), element)
