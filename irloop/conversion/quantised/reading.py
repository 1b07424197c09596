"""Recognises quantisation that a converted model computes by arithmetic, and reads its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop.dialects.onnx.activation import Clip11
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Add, Div, Round, Sub
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.record import Record
from irloop.graph.types import ElementType
from irloop.passes.forms import Emitter

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "BYTES",
    "Codes",
    "Scale",
    "codes_of",
    "inputs_of",
    "known",
    "only_reader",
    "scale_of",
    "scale_value",
    "shifted",
    "single_number",
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


def inputs_of(value: Value, op: type[Op]) -> tuple[Value, ...] | None:
    """The inputs of the node that computes `value`, if it is an `op` without omitted inputs.

    The result is None for any other node.
    """
    node = value.producer
    if not isinstance(node.op, op):
        return None
    found = tuple(item for item in node.inputs if item is not None)
    return found if len(found) == len(node.inputs) else None


def known(value: Value | None) -> Array | None:
    """Return the array that `value` holds if it is a constant, or None.

    A Cast of constant integers to f32 counts as a constant; its array is f32.
    """
    if value is None:
        return None
    if isinstance(value.producer.op, Constant):
        return value.producer.op.tensor.numpy()
    cast = inputs_of(value, Cast6)
    if cast is None or element_of(value) is not ElementType.F32:
        return None
    op = cast[0].producer.op
    if not isinstance(op, Constant) or not op.tensor.element.is_integer:
        return None
    return op.tensor.numpy().astype("float32")


def single_number(value: Value | None) -> float | None:
    """The number in a one-element constant; None for other values."""
    array = known(value)
    return None if array is None or array.size != 1 else float(array.reshape(()))


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
    """True for numbers that are positive, finite and not subnormal."""
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


def only_reader(value: Value) -> Node | None:
    """The only reader of a value; None if there are several or none."""
    return value.uses[0][0] if len(value.uses) == 1 else None


def scale_value(emitter: Emitter, scale: Scale) -> Value:
    """Emit a constant with the scales."""
    return emitter.constant(scale.numbers, ElementType.F32)
