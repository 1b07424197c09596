"""Emits older operations in place of operations that ONNX opsets 8 to 10 lack.

An operation without a replacement here is emitted as the newer operation, and `Conversion.emit`
refuses it, naming the opset that has it.
"""

from __future__ import annotations

import math

from irloop.dialects.onnx import comparison, convert, elementwise
from irloop.dialects.writing.onnx_shapes import OnnxShapes
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType, broadcast_shapes

__all__ = ["chosen", "chosen_integer", "equal_floats", "less_whole"]

#: The base by which a 64-bit integer is split into two halves that f64 represents exactly.
HALF = 2**32


def chosen_integer(w: OnnxShapes, condition: Value, then: Value, otherwise: Value) -> Value:
    """Emit Where for integers as condition * then + (1 - condition) * otherwise."""
    yes = w(convert.Cast6(element_of(then)), condition)
    no = w(convert.Cast6(element_of(then)), w(comparison.Not(), condition))
    left, right = w(elementwise.Mul(), yes, then), w(elementwise.Mul(), no, otherwise)
    return w(elementwise.Add(), left, right)


def chosen(w: OnnxShapes, condition: Value, then: Value, otherwise: Value) -> Value | None:
    """Emit the operation Where as a Gather; return None if a dimension of the result is unknown.

    The two tensors, of n elements each after broadcasting, are concatenated. The Gather reads
    elements 0..n-1 where the condition is true, and elements n..2n-1 elsewhere. Infinities and NaN
    are kept.
    """
    shape = broadcast_shapes(map(shape_of, (condition, then, otherwise)))
    dims = None if shape is None else shape.static()
    if dims is None:
        return None
    count, target = math.prod(dims), w.i64(list(dims))
    parts = [w.reshape(w.expand(value, target), [-1]) for value in (then, otherwise)]
    no = w.reshape(w.expand(w.as_i64(w(comparison.Not(), condition)), target), [-1])
    places = w.i64(list(range(count)))
    index = w(elementwise.Add(), places, w(elementwise.Mul(), no, w.i64([count])))
    found = w.gather(w.concat(parts, 0), index, 0)
    return w.reshape(found, list(dims)) if 0 not in dims else found


def equal_floats(w: OnnxShapes, left: Value, right: Value) -> Value:
    """Emit left == right for floats in opsets before 11, in which Equal does not take floats.

    The result is true where neither operand is less than the other and both are numbers. An operand
    is NaN where it is neither below 1 nor above 0.
    """
    less, greater = comparison.Less(), comparison.Greater()
    differ = w(comparison.Or(), w(less, left, right), w(greater, left, right))
    equal = w(comparison.Not(), differ)
    for value in (left, right):
        zero, one = w.constant(0, element_of(value)), w.constant(1, element_of(value))
        number = w(comparison.Or(), w(less, value, one), w(greater, value, zero))
        equal = w(comparison.And(), equal, number)
    return equal


def less_whole(w: OnnxShapes, left: Value, right: Value) -> Value:
    """Emit left < right for i64 in opsets before 9, in which Less takes floats only.

    The upper and the lower half of each number are compared separately, as f64.
    """
    high, low = zip(*(_halves(w, value) for value in (left, right)), strict=True)
    below = w(comparison.Less(), *(_f64(w, value) for value in high))
    same = w(comparison.Equal(), *high)
    rest = w(comparison.Less(), *(_f64(w, value) for value in low))
    return w(comparison.Or(), below, w(comparison.And(), same, rest))


def _halves(w: OnnxShapes, value: Value) -> tuple[Value, Value]:
    step = w.i64(HALF)
    high = w(elementwise.Div(), value, step)
    return high, w(elementwise.Sub(), value, w(elementwise.Mul(), high, step))


def _f64(w: OnnxShapes, value: Value) -> Value:
    return w(convert.Cast6(ElementType.F64), value)
