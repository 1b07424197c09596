"""Emits older operations in place of operations that ONNX opsets 8 to 10 lack.

An operation without a replacement here is emitted as the newer operation, and `Conversion.emit`
refuses it, naming the opset that has it.
"""

from __future__ import annotations

import math

import numpy as np

from irloop.conversion.forms.onnx_shape_forms import as_i64, concat, expand, gather, reshape
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx import comparison, convert, elementwise
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType, broadcast_shapes

__all__ = ["chosen", "chosen_integer", "equal_floats", "less_whole"]

#: The base by which a 64-bit integer is split into two halves that f64 represents exactly.
HALF = 2**32


def chosen_integer(c: Conversion, condition: Value, then: Value, otherwise: Value) -> Value:
    """Emit Where for integers as condition * then + (1 - condition) * otherwise."""
    yes = c(convert.Cast6(element_of(then)), condition)
    no = c(convert.Cast6(element_of(then)), c(comparison.Not(), condition))
    left, right = c(elementwise.Mul(), yes, then), c(elementwise.Mul(), no, otherwise)
    return c(elementwise.Add(), left, right)


def chosen(c: Conversion, condition: Value, then: Value, otherwise: Value) -> Value | None:
    """Emit the operation Where as a Gather; return None if a dimension of the result is unknown.

    The two tensors, of n elements each after broadcasting, are concatenated. The Gather reads
    elements 0..n-1 where the condition is true, and elements n..2n-1 elsewhere. Infinities and NaN
    are kept.
    """
    shape = broadcast_shapes(map(shape_of, (condition, then, otherwise)))
    dims = None if shape is None else shape.static()
    if dims is None:
        return None
    count, target = math.prod(dims), c.i64(list(dims))
    parts = [reshape(c, expand(c, value, target), [-1]) for value in (then, otherwise)]
    no = reshape(c, expand(c, as_i64(c, c(comparison.Not(), condition)), target), [-1])
    places = c.i64(np.arange(count))
    index = c(elementwise.Add(), places, c(elementwise.Mul(), no, c.i64([count])))
    found = gather(c, concat(c, parts, 0), index, 0)
    return reshape(c, found, list(dims)) if 0 not in dims else found


def equal_floats(c: Conversion, left: Value, right: Value) -> Value:
    """Emit left == right for floats in opsets before 11, in which Equal does not take floats.

    The result is true where neither operand is less than the other and both are numbers. An operand
    is NaN where it is neither below 1 nor above 0.
    """
    less, greater = comparison.Less(), comparison.Greater()
    differ = c(comparison.Or(), c(less, left, right), c(greater, left, right))
    found = c(comparison.Not(), differ)
    for value in (left, right):
        zero, one = c.constant(0, element_of(value)), c.constant(1, element_of(value))
        number = c(comparison.Or(), c(less, value, one), c(greater, value, zero))
        found = c(comparison.And(), found, number)
    return found


def less_whole(c: Conversion, left: Value, right: Value) -> Value:
    """Emit left < right for i64 in opsets before 9, in which Less takes floats only.

    The upper and the lower half of each number are compared separately, as f64.
    """
    high, low = zip(*(_halves(c, value) for value in (left, right)), strict=True)
    below = c(comparison.Less(), *(_f64(c, value) for value in high))
    same = c(comparison.Equal(), *high)
    rest = c(comparison.Less(), *(_f64(c, value) for value in low))
    return c(comparison.Or(), below, c(comparison.And(), same, rest))


def _halves(c: Conversion, value: Value) -> tuple[Value, Value]:
    step = c.i64(HALF)
    high = c(elementwise.Div(), value, step)
    return high, c(elementwise.Sub(), value, c(elementwise.Mul(), high, step))


def _f64(c: Conversion, value: Value) -> Value:
    return c(convert.Cast6(ElementType.F64), value)
