"""Emits OpenVINO operations that the conversions of several operation families need.

Each function appends nodes and returns the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.forms.openvino_shape_forms import (
    as_i64,
    as_list,
    as_one_element,
    as_scalar,
    broadcast,
    concat,
    gather,
    non_negative,
    non_negative_coordinates,
    pad,
    range_,
    reshape,
    reshape_to,
    shape_of,
    size_of,
    slice_,
    slice_by,
    split,
    squeeze,
    tile,
    topk,
    transpose,
    unsqueeze,
    variadic_split,
    variadic_split_by,
)
from irloop.conversion.framework.element_types import UNKNOWN_TO_OPENVINO
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.openvino import activation, comparison, elementwise, reduction
from irloop.dialects.openvino import convert as conversions
from irloop.dialects.unpacked import STAND_INS, UnpackedTensor
from irloop.graph.builder import element_of
from irloop.graph.builder import shape_of as static_shape
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.forms import select

__all__ = [
    "add",
    "as_i64",
    "as_list",
    "as_one_element",
    "as_scalar",
    "broadcast",
    "concat",
    "convert",
    "convert_always",
    "divide",
    "equal",
    "gather",
    "in_f32",
    "less",
    "logical_not",
    "marks_of_axes",
    "maximum",
    "minimum",
    "multiply",
    "non_negative",
    "non_negative_coordinates",
    "pad",
    "range_",
    "reduce",
    "representable",
    "reshape",
    "reshape_to",
    "scalar",
    "select",
    "shape_of",
    "size_of",
    "slice_",
    "slice_by",
    "softmax",
    "split",
    "squeeze",
    "subtract",
    "tile",
    "topk",
    "transpose",
    "unsqueeze",
    "variadic_split",
    "variadic_split_by",
]


def convert_always(c: Conversion, value: Value, element: ElementType) -> Value:
    """Emit operations that convert `value` to `element`, even if it already has this type."""
    if element in UNKNOWN_TO_OPENVINO:
        raise c.refuse(f"OpenVINO IR has no element type {element}")
    if element is ElementType.BOOLEAN and element_of(value) is ElementType.BOOLEAN:
        return c(comparison.LogicalOr(), value, value)
    return c(conversions.Convert(element), representable(c, value))


def representable(c: Conversion, value: Value) -> Value:
    """Return `value` in an element type that OpenVINO has.

    A constant of an unsupported type is replaced by one of a wider type with the same elements.

    Raises:
        RefusedError: for any other value of an unsupported type.
    """
    element, op = element_of(value), value.producer.op
    if element not in UNKNOWN_TO_OPENVINO:
        return value
    if isinstance(op, Constant) and element in STAND_INS:
        return c.tensor(UnpackedTensor(op.tensor), f"{value.producer.name}/unpacked")
    raise c.refuse(f"OpenVINO IR has no element type {element}")


def convert(c: Conversion, value: Value, element: ElementType) -> Value:
    """Convert `value` to the type `element`; return it unchanged if it has this type already."""
    return value if element_of(value) is element else convert_always(c, value, element)


def in_f32(c: Conversion, build: Callable[..., Value], *values: Value) -> Value:
    """Call `build` with `values`, and compute in f32 if the first value is f16 or bf16.

    For this, all values are converted to f32, and the result is converted back to the type of the
    first value. Runtimes compute 16-bit floats in the same way.
    """
    element = element_of(values[0])
    chosen = ElementType.F32 if element in (ElementType.F16, ElementType.BF16) else element
    wide = build(*(convert(c, value, chosen) for value in values))
    return convert(c, wide, element)


def scalar(c: Conversion, number: float, like: Value) -> Value:
    """A scalar constant of the element type of `like`."""
    return c.constant(number, element_of(like))


def add(c: Conversion, left: Value, right: Value) -> Value:
    """left + right."""
    return c(elementwise.Add(), left, right)


def subtract(c: Conversion, left: Value, right: Value) -> Value:
    """left - right."""
    return c(elementwise.Subtract(), left, right)


def multiply(c: Conversion, left: Value, right: Value) -> Value:
    """left * right."""
    return c(elementwise.Multiply(), left, right)


def divide(c: Conversion, left: Value, right: Value) -> Value:
    """left / right; integers truncate."""
    truncate = element_of(left).is_integer
    return c(elementwise.Divide(m_pythondiv=not truncate), left, right)


def maximum(c: Conversion, left: Value, right: Value) -> Value:
    """The elementwise maximum of two values."""
    return c(elementwise.Maximum(), left, right)


def minimum(c: Conversion, left: Value, right: Value) -> Value:
    """The elementwise minimum of two values."""
    return c(elementwise.Minimum(), left, right)


def less(c: Conversion, left: Value, right: Value) -> Value:
    """left < right."""
    return c(comparison.Less(), left, right)


def equal(c: Conversion, left: Value, right: Value) -> Value:
    """left == right."""
    return c(comparison.Equal(), left, right)


def logical_not(c: Conversion, value: Value) -> Value:
    """The logical negation."""
    return c(comparison.LogicalNot(), value)


_REDUCTIONS = {
    "Sum": reduction.ReduceSum,
    "Mean": reduction.ReduceMean,
    "Prod": reduction.ReduceProd,
    "Max": reduction.ReduceMax,
    "Min": reduction.ReduceMin,
    "L1": reduction.ReduceL1,
    "L2": reduction.ReduceL2,
    "And": reduction.ReduceLogicalAnd,
    "Or": reduction.ReduceLogicalOr,
}


def reduce(
    c: Conversion, kind: str, value: Value, axes: Value | Sequence[int], *, keep: bool = True
) -> Value:
    """A reduction (Sum, Mean, Prod, Max, Min, L1, L2, And, Or) over axes that may be empty."""
    listed = axes if isinstance(axes, Value) else c.i64(list(axes))
    return c(_REDUCTIONS[kind](keep_dims=keep), value, listed)


def marks_of_axes(c: Conversion, axes: Value, rank: int) -> Value:
    """An i64 list of length `rank`, with 1 for each axis in `axes` and 0 for the others.

    `axes` is an integer list or scalar that is computed; negative ones count from the end.
    """
    listed = convert(c, axes, ElementType.I64)
    turned = select(c, less(c, listed, c.i64(0)), add(c, listed, c.i64(rank)), listed)
    hits = equal(c, c.i64([[at] for at in range(rank)]), turned)
    return reduce(c, "Max", convert(c, hits, ElementType.I64), [1], keep=False)


def softmax(c: Conversion, value: Value, axis: int) -> Value:
    """Softmax along `axis`.

    Before opset8, a negative axis requires a known rank.

    Raises:
        RefusedError: before opset8, if the axis is negative and the rank is unknown.
    """
    if c.opset >= 8:
        return c(activation.SoftMax8(axis=axis), value)
    rank = static_shape(value).rank
    if axis < 0 and rank is None:
        raise c.refuse("its axis is negative, and the rank is not known", "write opset8")
    return c(activation.SoftMax1(axis=axis + (rank or 0) if axis < 0 else axis), value)
