"""Converts elementwise arithmetic.

OpenVINO computes every function on integers too; ONNX computes most of them on floats only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.dialects.onnx import elementwise as onnx
from irloop.dialects.openvino import comparison as ov_comparison
from irloop.dialects.openvino import elementwise as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from irloop.graph.walk import is_constant

#: Functions without attributes that both dialects have, as pairs of classes.
FUNCTIONS: tuple[tuple[type[Op], type[Op]], ...] = (
    (ov.Acos, onnx.Acos),
    (ov.Acosh, onnx.Acosh),
    (ov.Asin, onnx.Asin),
    (ov.Asinh, onnx.Asinh),
    (ov.Atan, onnx.Atan),
    (ov.Atanh, onnx.Atanh),
    (ov.Cos, onnx.Cos),
    (ov.Cosh, onnx.Cosh),
    (ov.Erf, onnx.Erf),
    (ov.Exp, onnx.Exp),
    (ov.Log, onnx.Log),
    (ov.Sin, onnx.Sin),
    (ov.Sinh, onnx.Sinh),
    (ov.Sqrt, onnx.Sqrt),
    (ov.Tan, onnx.Tan),
    (ov.Tanh, onnx.Tanh),
)

#: Functions whose results for integers need more bits than f32 has.
FAR_REACHING = frozenset({onnx.Exp, onnx.Log, onnx.Sqrt})


def function_rule(target: type[Op]) -> Callable[..., Value]:
    """Make the rule that exports a one-operand function as the ONNX operation `target`.

    If the operand is an integer, `target` computes in floats, and its result is rounded to the
    nearest integer and converted back.
    """

    def rule(c: Export, op: Op, x: Value) -> Value:
        element = element_of(x)
        if not element.is_integer:
            return c.numeric(target(), x)
        is_wide = element.bits > 16 and target in FAR_REACHING
        wide = ElementType.F64 if is_wide else ElementType.F32
        result = c(target(), c.convert(x, wide))
        return c.convert(c(onnx.Round(), result), element)

    return rule


def unary_rule(target: type[Op]) -> Callable[..., Value]:
    """Return a rule that converts a unary operation to `target`, its class in the other dialect."""

    def rule(c: Conversion, op: Op, x: Value) -> Value:
        return c(target(), x)

    return rule


for _ov, _onnx in FUNCTIONS:
    exports(_ov)(function_rule(_onnx))
    imports(_onnx)(unary_rule(_ov))


def rounding_rule(target: type[Op]) -> Callable[..., Value]:
    """Make a rule that converts a rounding operation to `target`.

    Integer operands are passed on unchanged.
    """

    def rule(c: Export, op: Op, x: Value) -> Value:
        if element_of(x).is_integer:
            return c.identity(x)
        return c.numeric(target(), x)

    return rule


exports(ov.Floor)(rounding_rule(onnx.Floor))
exports(ov.Ceiling)(rounding_rule(onnx.Ceil))
imports(onnx.Floor)(unary_rule(ov.Floor))
imports(onnx.Ceil)(unary_rule(ov.Ceiling))


@exports(ov.Round)
def export_round(c: Export, op: ov.Round, x: Value) -> Value:
    """Write Round for ties to even; compute the rounding of ties away from zero by arithmetic.

    For these, the magnitude of `x` is rounded down, 1 is added if the fraction is at least a half,
    and the result gets the sign of `x`.
    """
    if op.mode.lower() == "half_to_even" or element_of(x).is_integer:
        return rounding_rule(onnx.Round)(c, op, x)
    chosen = c.computing_type(element_of(x))

    def build(value: Value) -> Value:
        size = c(onnx.Abs(), value)
        floor = c(onnx.Floor(), size)
        rest = c.subtract(size, floor)
        below = c.less(rest, c.scalar(0.5, value))
        up = c.add(floor, c.scalar(1, value))
        return c.multiply(c(onnx.Sign(), value), c.select(below, floor, up))

    return c.computed_in(chosen, build, x)


@imports(onnx.Round)
def import_round(c: Import, op: onnx.Round, x: Value) -> Value:
    return c(ov.Round(mode="half_to_even"), x)


@exports(ov.Abs)
def export_abs(c: Export, op: ov.Abs, x: Value) -> Value:
    return c.numeric(onnx.Abs(), x, small=6, half=6)


@exports(ov.Sign)
def export_sign(c: Export, op: ov.Sign, x: Value) -> Value:
    return c.numeric(onnx.Sign(), x, small=9, half=9)


@exports(ov.Negative)
def export_negative(c: Export, op: ov.Negative, x: Value) -> Value:
    """Write Negative as Neg, or for unsigned integers as 0 - x, which wraps in the same way."""
    if element_of(x).value.startswith("u"):
        return c.subtract(c.scalar(0, x), x)
    return c.numeric(onnx.Neg(), x, small=6, half=6)


imports(onnx.Abs)(unary_rule(ov.Abs))
imports(onnx.Sign)(unary_rule(ov.Sign))
imports(onnx.Neg)(unary_rule(ov.Negative))


@imports(onnx.Reciprocal)
def import_reciprocal(c: Import, op: onnx.Reciprocal, x: Value) -> Value:
    return c.divide(c.scalar(1, x), x)


def aligned(c: Export, left: Value, right: Value, axis: int) -> Value:
    """`right` with axes of size 1 appended, so that NumPy aligns it with axis `axis` of `left`."""
    rank, part = shape_of(left).rank, shape_of(right).rank
    if axis == -1 or rank is None or part is None:
        if axis == -1:
            return right
        raise c.refuse("auto_broadcast pdpd needs the rank of each operand, and one is not known")
    missing = rank - axis - part
    if missing <= 0:
        return right
    return c.unsqueeze(right, list(range(part, part + missing)))


def operands(c: Export, op: ov.Binary, left: Value, right: Value) -> tuple[Value, Value]:
    """The operands, reshaped so that numpy broadcasting aligns them."""
    return (left, aligned(c, left, right, op.pdpd_axis)) if op.is_pdpd else (left, right)


@exports(ov.Add)
def export_add(c: Export, op: ov.Add, left: Value, right: Value) -> Value:
    return c.add(*operands(c, op, left, right))


@exports(ov.Subtract)
def export_subtract(c: Export, op: ov.Subtract, left: Value, right: Value) -> Value:
    dims = shape_of(left).static() if left is right else None
    if dims is not None and element_of(left).is_integer:
        # What conversion to IR computes a size from, so that OpenVINO does not know it.
        return c.constant(np.zeros(dims), element_of(left))
    return c.subtract(*operands(c, op, left, right))


@exports(ov.Multiply)
def export_multiply(c: Export, op: ov.Multiply, left: Value, right: Value) -> Value:
    return c.multiply(*operands(c, op, left, right))


@exports(ov.Maximum)
def export_maximum(c: Export, op: ov.Maximum, left: Value, right: Value) -> Value:
    """Write Maximum as Max, but not the maximum of a value and itself: a copy for OpenVINO."""
    if left is right:
        return left
    return c.maximum(*operands(c, op, left, right))


@exports(ov.Minimum)
def export_minimum(c: Export, op: ov.Minimum, left: Value, right: Value) -> Value:
    return c.minimum(*operands(c, op, left, right))


@exports(ov.Divide)
def export_divide(c: Export, op: ov.Divide, left: Value, right: Value) -> Value:
    """Write Divide as Div, or as Reciprocal for 1 / x of f32 and f64.

    With `m_pythondiv`, OpenVINO rounds the quotient of two integer constants down, and the written
    operations do the same. OpenVINO truncates every other quotient of integers, as Div does.
    """
    left, right = operands(c, op, left, right)
    of_constants = all(value is not None and is_constant(value) for value in c.node.inputs)
    if op.m_pythondiv and element_of(left).is_integer and of_constants:
        return c.floor_divide(left, right)
    if element_of(left) in (ElementType.F32, ElementType.F64) and _is_one(c, left, right):
        # ONNX Runtime replaces (1 / x) * y by y / x, which is rounded differently. It does not
        # replace a Reciprocal.
        return c(onnx.Reciprocal(), right)
    return c.divide(left, right)


def _is_one(c: Export, value: Value, other: Value) -> bool:
    """Return whether `value` is the constant 1, so that `value` / `other` is a reciprocal.

    The result is False if `value` has a higher rank than `other`, because the reciprocal has the
    shape of `other`, and the quotient would not.
    """
    known, rank = c.constant_of(value), shape_of(other).rank or 0
    return known is not None and known.size == 1 and known.ndim <= rank and known.item() == 1


@exports(ov.Mod)
def export_mod(c: Export, op: ov.Mod, left: Value, right: Value) -> Value:
    return c.numeric(onnx.Mod(fmod=True), *operands(c, op, left, right), small=10, half=10)


@exports(ov.FloorMod)
def export_floor_mod(c: Export, op: ov.FloorMod, left: Value, right: Value) -> Value:
    """Write FloorMod as Mod for integers, and as a - b * floor(a / b) for floats.

    ONNX's Mod of floats has the sign of the dividend, but FloorMod has the sign of the divisor.
    """
    left, right = operands(c, op, left, right)
    if element_of(left).is_integer:
        return c.numeric(onnx.Mod(), left, right, small=10, half=10)

    def build(a: Value, b: Value) -> Value:
        quotient = c(onnx.Floor(), c(onnx.Div(), a, b))
        return c(onnx.Sub(), a, c(onnx.Mul(), b, quotient))

    return c.computed_in(c.computing_type(element_of(left)), build, left, right)


@exports(ov.Power)
def export_power(c: Export, op: ov.Power, base: Value, exponent: Value) -> Value:
    """Write Power as Pow, computed in a type that Pow supports in this opset.

    Narrow integers are computed in i32. u32 and u64, and before opset 12 all integers, are computed
    in f64.
    """
    base, exponent = operands(c, op, base, exponent)
    element = element_of(base)
    chosen = c.computing_type(element, small=None, half=None)
    if element.is_integer and (c.opset < 12 or element in (ElementType.U32, ElementType.U64)):
        chosen = ElementType.F64
    return c.computed_in(chosen, lambda a, b: c(onnx.Pow(), a, b), base, exponent)


@exports(ov.SquaredDifference)
def export_squared_difference(
    c: Export, op: ov.SquaredDifference, left: Value, right: Value
) -> Value:
    difference = c.subtract(*operands(c, op, left, right))
    return c.multiply(difference, difference)


Build = Callable[[Import, Value, Value], Value]


def wrapping(c: Import, build: Build, left: Value, right: Value) -> Value:
    """Emit the operation that `build` makes, so that integer results wrap around as in ONNX.

    8-bit operands are computed in i32, because OpenVINO's CPU saturates their products and
    differences, and rounds their quotients if shapes are unknown.
    """
    element = element_of(left)
    if element not in EIGHT_BITS:
        return build(c, left, right)
    wide = (c.convert(operand, ElementType.I32) for operand in (left, right))
    return c.convert(build(c, *wide), element)


def wrapping_rule(build: Build) -> Callable[..., Value]:
    """Make a conversion rule that emits the operation made by `build`, with wrapping integers.

    8-bit integers are computed in i32, because OpenVINO's CPU plugin would saturate them.
    """

    def rule(c: Import, op: Op, left: Value, right: Value) -> Value:
        return wrapping(c, build, left, right)

    return rule


EIGHT_BITS = frozenset({ElementType.I8, ElementType.U8})

imports(onnx.Add)(wrapping_rule(Import.add))
imports(onnx.Sub)(wrapping_rule(Import.subtract))
imports(onnx.Mul)(wrapping_rule(Import.multiply))
imports(onnx.Div)(wrapping_rule(Import.divide))


@imports(onnx.Mod)
def import_mod(c: Import, op: onnx.Mod, left: Value, right: Value) -> Value:
    """Write Mod if `fmod` is 1, otherwise FloorMod, which a Select corrects for floats.

    The correction is for a finite dividend and an infinite divisor, where OpenVINO's CPU plugin
    would multiply 0 by infinity. The Select returns the divisor if the signs of the two differ, and
    the dividend otherwise.
    """
    if op.fmod:
        return c(ov.Mod(), left, right)
    plain = c(ov.FloorMod(), left, right)
    if not element_of(left).is_float:
        return plain
    zero, infinite = c.scalar(0, left), c.scalar(math.inf, left)
    ends = c.equal(c(ov.Abs(), right), infinite)
    finite = c.less(c(ov.Abs(), left), infinite)
    below, above = c.less(left, zero), c.less(zero, left)
    other = c.select(c.less(right, zero), above, below)
    chosen = c.select(other, right, left)
    return c.select(c(ov_comparison.LogicalAnd(), ends, finite), chosen, plain)


@imports(onnx.Pow)
def import_pow(c: Import, op: onnx.Pow, base: Value, exponent: Value) -> Value:
    """Write Pow as Power, whose operands must have one element type.

    The result has the type of the base. An exponent of another type is converted to the type of the
    base. But if the base is an integer and the exponent a float, the base is converted, and the
    result is converted back.
    """
    element, other = element_of(base), element_of(exponent)
    if element is other:
        return wrapping(c, lambda c, a, b: c(ov.Power(), a, b), base, exponent)
    if element.is_integer and other.is_float:
        wide = c.convert(base, other)
        return c.convert(c(ov.Power(), wide, exponent), element)
    return c(ov.Power(), base, c.convert(exponent, element))


def folding_rule(target: type[Op]) -> Callable[..., Value]:
    """Make a rule that converts an operation on many operands to a chain of binary operations.

    If `target` is Add, Sum(a, b, c) becomes Add(Add(a, b), c).
    """

    def rule(c: Conversion, op: Op, first: Value, *others: Value) -> Value:
        result = first
        for other in others:
            result = c(target(), result, other)
        return result

    return rule


imports(onnx.Sum)(folding_rule(ov.Add))
imports(onnx.Max)(folding_rule(ov.Maximum))
imports(onnx.Min)(folding_rule(ov.Minimum))


@imports(onnx.Mean)
def import_mean(c: Import, op: onnx.Mean, *values: Value) -> Value:
    total = folding_rule(ov.Add)(c, op, *values)
    return c.divide(total, c.scalar(len(values), total))


#: Giles, "Approximating the erfinv function" (2010), for f32. Coefficients of a polynomial, the
#: highest power first, in w - 2.5 if w = -log(1 - x^2) is below 5, else in sqrt(w) - 3.
ERF_INVERSE_NEAR = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
ERF_INVERSE_FAR = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


@exports(ov.ErfInv)
def export_erf_inv(c: Export, op: ov.ErfInv, x: Value) -> Value:
    """Write ErfInv as two polynomials, from which a Where chooses for each element.

    Both approximate the function, the first near 0 and the second near -1 and 1. At -1 and 1
    themselves, the result is infinite.
    """
    return c.computed_in(ElementType.F32, lambda value: _erf_inverse(c, value), x)


def _erf_inverse(c: Export, x: Value) -> Value:
    def number(value: float) -> Value:
        return c.scalar(value, x)

    below, above = c.subtract(number(1), x), c.add(number(1), x)
    w = c(onnx.Neg(), c(onnx.Log(), c.multiply(below, above)))
    near = _polynomial(c, c.subtract(w, number(2.5)), ERF_INVERSE_NEAR)
    root = c(onnx.Sqrt(), c.maximum(w, number(5)))
    far = _polynomial(c, c.subtract(root, number(3)), ERF_INVERSE_FAR)
    result = c.multiply(c.select(c.less(w, number(5)), near, far), x)
    edge = c.equal(c(onnx.Abs(), x), number(1))
    return c.select(edge, c.multiply(x, number(math.inf)), result)


def _polynomial(c: Export, x: Value, coefficients: tuple[float, ...]) -> Value:
    result = c.scalar(coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = c.add(c.multiply(result, x), c.scalar(coefficient, x))
    return result
