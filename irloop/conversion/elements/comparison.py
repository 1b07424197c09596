"""Converts comparisons, logical operations and selection."""

from __future__ import annotations

from collections.abc import Callable

from irloop.conversion.elements.elementwise import aligned, operands, unary_rule
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import comparison as onnx
from irloop.dialects.openvino import comparison as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

exports(ov.LogicalNot)(unary_rule(onnx.Not))
imports(onnx.Not)(unary_rule(ov.LogicalNot))


def _comparison(target: type[Op]) -> Callable[..., Value]:
    def rule(c: Export, op: ov.Comparison, left: Value, right: Value) -> Value:
        return c.compared(target(), *operands(c, op, left, right))

    return rule


exports(ov.Equal)(_comparison(onnx.Equal))
exports(ov.Greater)(_comparison(onnx.Greater))
exports(ov.Less)(_comparison(onnx.Less))


@exports(ov.NotEqual)
def export_not_equal(c: Export, op: ov.NotEqual, left: Value, right: Value) -> Value:
    return c.logical_not(_comparison(onnx.Equal)(c, op, left, right))


@exports(ov.GreaterEqual)
def export_greater_equal(c: Export, op: ov.GreaterEqual, left: Value, right: Value) -> Value:
    """Write GreaterEqual as GreaterOrEqual, or before opset 12 as the Or of Greater and Equal.

    Not(Less) would be true for NaN.
    """
    if c.opset >= 12:
        return _comparison(onnx.GreaterOrEqual)(c, op, left, right)
    return _or_equal(c, op, onnx.Greater, left, right)


@exports(ov.LessEqual)
def export_less_equal(c: Export, op: ov.LessEqual, left: Value, right: Value) -> Value:
    if c.opset >= 12:
        return _comparison(onnx.LessOrEqual)(c, op, left, right)
    return _or_equal(c, op, onnx.Less, left, right)


def _or_equal(c: Export, op: ov.Comparison, strict: type[Op], left: Value, right: Value) -> Value:
    strictly = _comparison(strict)(c, op, left, right)
    return c(onnx.Or(), strictly, _comparison(onnx.Equal)(c, op, left, right))


def _logical(target: type[Op]) -> Callable[..., Value]:
    def rule(c: Export, op: ov.Comparison, left: Value, right: Value) -> Value:
        if left is right and target is not onnx.Xor:  # a copy of booleans for OpenVINO
            return left
        return c(target(), *operands(c, op, left, right))

    return rule


exports(ov.LogicalAnd)(_logical(onnx.And))
exports(ov.LogicalOr)(_logical(onnx.Or))
exports(ov.LogicalXor, ov.Xor)(_logical(onnx.Xor))


def _same(target: type[Op]) -> Callable[..., Value]:
    def rule(c: Export, op: Op, left: Value, right: Value) -> Value:
        return c(target(), left, right)

    return rule


@imports(onnx.Equal)
def import_equal(c: Import, op: onnx.Equal, left: Value, right: Value) -> Value:
    if element_of(left) is ElementType.STRING:
        raise c.refuse("OpenVINO cannot compare strings")
    return c(ov.Equal(), left, right)


imports(onnx.Greater)(_same(ov.Greater))
imports(onnx.GreaterOrEqual)(_same(ov.GreaterEqual))
imports(onnx.Less)(_same(ov.Less))
imports(onnx.LessOrEqual)(_same(ov.LessEqual))
imports(onnx.And)(_same(ov.LogicalAnd))
imports(onnx.Or)(_same(ov.LogicalOr))
imports(onnx.Xor)(_same(ov.LogicalXor))


@exports(ov.Select)
def export_select(
    c: Export, op: ov.Select, condition: Value, then: Value, otherwise: Value
) -> Value:
    if op.is_pdpd:
        condition = aligned(c, otherwise, condition, op.pdpd_axis)
        then = aligned(c, otherwise, then, op.pdpd_axis)
    return c.select(condition, then, otherwise)


@imports(onnx.Where)
def import_where(
    c: Import, op: onnx.Where, condition: Value, then: Value, otherwise: Value
) -> Value:
    return c.select(condition, then, otherwise)
