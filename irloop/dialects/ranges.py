"""Shape inference for ranges and one-hot codes, shared by both dialects."""

from __future__ import annotations

import math

from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, ElementType, Shape

__all__ = ["length", "with_new_axis"]


def length(args: Arguments, element: ElementType) -> Dim:
    """The length of a range, whose start, stop and step are inputs 0 to 2, as far as it is known.

    `element` is the element type of the range; if it is an integer type, start, stop and step are
    truncated first.

    Raises:
        InferenceError: when an input has more than one element, or the step is 0.
    """
    for position in range(3):
        if args.shape(position).count() not in (None, 1):
            raise args.error(f"input {position} is not a scalar", "[]", str(args.shape(position)))
    numbers = [_number(args, position, element) for position in range(3)]
    start, stop, step = numbers
    if step == 0:
        raise args.error("the step is 0", "another number", "0", kind="range")
    if start is not None and stop is not None and step is not None:
        span = (stop - start) / step
        return max(0, math.ceil(span)) if math.isfinite(span) else UNKNOWN_DIM
    limit = args.dims(1)
    if start == 0 and step == 1 and limit is not None and len(limit) == 1:
        return limit[0]
    return UNKNOWN_DIM


def _number(args: Arguments, position: int, element: ElementType) -> float | None:
    array = args.constant(position)
    if array is None or array.size != 1:
        return None
    number = float(array.reshape(-1)[0])
    return float(math.trunc(number)) if element.is_integer and math.isfinite(number) else number


def with_new_axis(args: Arguments, shape: Shape, axis: int, size: Dim) -> Shape:
    """`shape` with a new axis of `size`; `axis` is its position in the result.

    Raises:
        InferenceError: when the axis is outside the result.
    """
    if shape.dims is None:
        return UNKNOWN_SHAPE
    rank = len(shape.dims) + 1
    if not -rank <= axis < rank:
        raise args.error("axis is out of range", f"{-rank} to {rank - 1}", str(axis), kind="range")
    at = axis % rank
    return Shape((*shape.dims[:at], size, *shape.dims[at:]))
