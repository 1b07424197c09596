"""Recognises quantisation that a converted model computes by arithmetic, and reads its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop.analysis.operands import inputs_of, known, single_number
from irloop.dialects.onnx.activation import Clip11
from irloop.dialects.onnx.elementwise import Add, Div, Round, Sub
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.record import Record
from irloop.graph.types import ElementType
from irloop.passes.node_writer import NodeWriter

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "BYTES",
    "Codes",
    "Scale",
    "codes_of",
    "scale_of",
    "scale_value",
    "shifted",
]

#: The 8-bit integer types, with the range of each.
BYTES = {ElementType.U8: (0.0, 255.0), ElementType.I8: (-128.0, 127.0)}


class Codes(Record):
    """Quantised integers in f32: x / `scale`, rounded to even and limited to `low`..`high`.

    The scale is a single number.
    """

    x: Value
    scale: Scale
    low: float
    high: float


class Scale(Record):
    """The constant scales of a quantisation.

    `numbers` is one scale, or a vector of scales along `axis` of the data; `axis` is None for one
    scale.
    """

    numbers: Any
    axis: int | None


def scale_of(value: Value, data: Value) -> Scale | None:
    """Return the constant scales in `value`; None if QuantizeLinear cannot apply them to `data`.

    The scales must be positive f32 numbers that are not subnormal. A vector of scales must belong
    to one axis of known size. The scales must not broadcast `data` to a larger shape.
    """
    if element_of(value) is not ElementType.F32:
        return None
    array = known(value)
    if array is None or not array.size or not _is_normal(array):
        return None
    dims = shape_of(data).dims
    if array.ndim > (0 if dims is None else len(dims)):
        return None
    if array.size == 1:
        return Scale(array.reshape(()), None)
    assert dims is not None
    wide = [axis for axis, size in enumerate(array.shape, len(dims) - array.ndim) if size > 1]
    if len(wide) > 1 or dims[wide[0]] != array.size:
        return None
    return Scale(array.reshape(-1), wide[0])


def _is_normal(array: Array) -> bool:
    """Return whether numbers are positive, finite and not subnormal."""
    import numpy as np

    limits = np.finfo(np.float32)
    return bool(((array >= limits.tiny) & (array <= limits.max)).all())


def codes_of(value: Value) -> Codes | None:
    """Match `value` as integers quantised in f32: Clip(Round(x / scale), low, high).

    Returns x, the scale and the two limits, or None if `value` is not computed like this. The scale
    and the limits must be single numbers.
    """
    clip = inputs_of(value, Clip11)
    if clip is None or len(clip) != 3 or element_of(value) is not ElementType.F32:
        return None
    low, high = single_number(clip[1]), single_number(clip[2])
    rounded = inputs_of(clip[0], Round)
    ratio = None if rounded is None else inputs_of(rounded[0], Div)
    if ratio is None or low is None or high is None:
        return None
    scale = scale_of(ratio[1], ratio[0])
    if scale is None or scale.axis is not None:
        return None
    return Codes(ratio[0], scale, low, high)


def shifted(value: Value) -> tuple[Value, float]:
    """Split `value` into x + n, where n is a sum of integer constants; return x and n.

    If `value` adds or subtracts no integer constant, n is 0.
    """
    total = 0.0
    for op, sign in ((Sub, -1), (Add, 1)):
        parts = inputs_of(value, op)
        number = None if parts is None else single_number(parts[1])
        if parts is not None and number is not None and number.is_integer():
            value, total = parts[0], total + sign * number
    return value, total


def scale_value(w: NodeWriter, scale: Scale) -> Value:
    """Emit a constant with the scales."""
    return w.constant(scale.numbers, ElementType.F32)
