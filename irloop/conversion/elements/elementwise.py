"""Converts elementwise arithmetic.

OpenVINO computes every function on integers too; ONNX computes most of them on floats only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms import openvino_forms as ov_forms
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

    def rule(c: Conversion, op: Op, x: Value) -> Value:
        element = element_of(x)
        if not element.is_integer:
            return forms.numeric(c, target(), x)
        is_wide = element.bits > 16 and target in FAR_REACHING
        wide = ElementType.F64 if is_wide else ElementType.F32
        result = c(target(), forms.convert(c, x, wide))
        return forms.convert(c, c(onnx.Round(), result), element)

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

    def rule(c: Conversion, op: Op, x: Value) -> Value:
        if element_of(x).is_integer:
            return forms.identity(c, x)
        return forms.numeric(c, target(), x)

    return rule


exports(ov.Floor)(rounding_rule(onnx.Floor))
exports(ov.Ceiling)(rounding_rule(onnx.Ceil))
imports(onnx.Floor)(unary_rule(ov.Floor))
imports(onnx.Ceil)(unary_rule(ov.Ceiling))


@exports(ov.Round)
def export_round(c: Conversion, op: ov.Round, x: Value) -> Value:
    """Write Round for ties to even; compute the rounding of ties away from zero by arithmetic.

    For these, the magnitude of `x` is rounded down, 1 is added if the fraction is at least a half,
    and the result gets the sign of `x`.
    """
    if op.mode.lower() == "half_to_even" or element_of(x).is_integer:
        return rounding_rule(onnx.Round)(c, op, x)
    chosen = forms.computing_type(c, element_of(x))

    def build(value: Value) -> Value:
        size = c(onnx.Abs(), value)
        whole = c(onnx.Floor(), size)
        rest = forms.subtract(c, size, whole)
        below = forms.less(c, rest, forms.scalar(c, 0.5, value))
        up = forms.add(c, whole, forms.scalar(c, 1, value))
        return forms.multiply(c, c(onnx.Sign(), value), forms.select(c, below, whole, up))

    return forms.computed_in(c, chosen, build, x)


@imports(onnx.Round)
def import_round(c: Conversion, op: onnx.Round, x: Value) -> Value:
    return c(ov.Round(mode="half_to_even"), x)


@exports(ov.Abs)
def export_abs(c: Conversion, op: ov.Abs, x: Value) -> Value:
    return forms.numeric(c, onnx.Abs(), x, small=6, half=6)


@exports(ov.Sign)
def export_sign(c: Conversion, op: ov.Sign, x: Value) -> Value:
    return forms.numeric(c, onnx.Sign(), x, small=9, half=9)


@exports(ov.Negative)
def export_negative(c: Conversion, op: ov.Negative, x: Value) -> Value:
    """Write Negative as Neg, or for unsigned integers as 0 - x, which wraps in the same way."""
    if element_of(x).value.startswith("u"):
        return forms.subtract(c, forms.scalar(c, 0, x), x)
    return forms.numeric(c, onnx.Neg(), x, small=6, half=6)


imports(onnx.Abs)(unary_rule(ov.Abs))
imports(onnx.Sign)(unary_rule(ov.Sign))
imports(onnx.Neg)(unary_rule(ov.Negative))


@imports(onnx.Reciprocal)
def import_reciprocal(c: Conversion, op: onnx.Reciprocal, x: Value) -> Value:
    return ov_forms.divide(c, ov_forms.scalar(c, 1, x), x)


def aligned(c: Conversion, left: Value, right: Value, axis: int) -> Value:
    """`right` with axes of size 1 appended, so that NumPy aligns it with axis `axis` of `left`."""
    whole, part = shape_of(left).rank, shape_of(right).rank
    if axis == -1 or whole is None or part is None:
        if axis == -1:
            return right
        raise c.refuse("auto_broadcast pdpd needs the rank of each operand, and one is not known")
    missing = whole - axis - part
    if missing <= 0:
        return right
    return forms.unsqueeze(c, right, list(range(part, part + missing)))


def operands(c: Conversion, op: ov.Binary, left: Value, right: Value) -> tuple[Value, Value]:
    """The operands, reshaped so that numpy broadcasting aligns them."""
    return (left, aligned(c, left, right, op.pdpd_axis)) if op.is_pdpd else (left, right)


@exports(ov.Add)
def export_add(c: Conversion, op: ov.Add, left: Value, right: Value) -> Value:
    return forms.add(c, *operands(c, op, left, right))


@exports(ov.Subtract)
def export_subtract(c: Conversion, op: ov.Subtract, left: Value, right: Value) -> Value:
    dims = shape_of(left).static() if left is right else None
    if dims is not None and element_of(left).is_integer:
        # What conversion to IR computes a size from, so that OpenVINO does not know it.
        return c.constant(np.zeros(dims), element_of(left))
    return forms.subtract(c, *operands(c, op, left, right))


@exports(ov.Multiply)
def export_multiply(c: Conversion, op: ov.Multiply, left: Value, right: Value) -> Value:
    return forms.multiply(c, *operands(c, op, left, right))


@exports(ov.Maximum)
def export_maximum(c: Conversion, op: ov.Maximum, left: Value, right: Value) -> Value:
    """Write Maximum as Max, but not the maximum of a value and itself: a copy for OpenVINO."""
    if left is right:
        return left
    return forms.maximum(c, *operands(c, op, left, right))


@exports(ov.Minimum)
def export_minimum(c: Conversion, op: ov.Minimum, left: Value, right: Value) -> Value:
    return forms.minimum(c, *operands(c, op, left, right))


@exports(ov.Divide)
def export_divide(c: Conversion, op: ov.Divide, left: Value, right: Value) -> Value:
    """Write Divide as Div, or as Reciprocal for 1 / x of f32 and f64.

    With `m_pythondiv`, OpenVINO rounds the quotient of two integer constants down, and the written
    operations do the same. OpenVINO truncates every other quotient of integers, as Div does.
    """
    left, right = operands(c, op, left, right)
    of_constants = all(value is not None and is_constant(value) for value in c.node.inputs)
    if op.m_pythondiv and element_of(left).is_integer and of_constants:
        return forms.floor_divide(c, left, right)
    if element_of(left) in (ElementType.F32, ElementType.F64) and _is_one(c, left, right):
        # ONNX Runtime replaces (1 / x) * y by y / x, which is rounded differently. It does not
        # replace a Reciprocal.
        return c(onnx.Reciprocal(), right)
    return forms.divide(c, left, right)


def _is_one(c: Conversion, value: Value, other: Value) -> bool:
    """Return whether `value` is the constant 1, so that `value` / `other` is a reciprocal.

    The result is False if `value` has a higher rank than `other`, because the reciprocal has the
    shape of `other`, and the quotient would not.
    """
    known, rank = c.constant_of(value), shape_of(other).rank or 0
    return known is not None and known.size == 1 and known.ndim <= rank and known.item() == 1


@exports(ov.Mod)
def export_mod(c: Conversion, op: ov.Mod, left: Value, right: Value) -> Value:
    return forms.numeric(c, onnx.Mod(fmod=True), *operands(c, op, left, right), small=10, half=10)


@exports(ov.FloorMod)
def export_floor_mod(c: Conversion, op: ov.FloorMod, left: Value, right: Value) -> Value:
    """Write FloorMod as Mod for integers, and as a - b * floor(a / b) for floats.

    ONNX's Mod of floats has the sign of the dividend, but FloorMod has the sign of the divisor.
    """
    left, right = operands(c, op, left, right)
    if element_of(left).is_integer:
        return forms.numeric(c, onnx.Mod(), left, right, small=10, half=10)

    def build(a: Value, b: Value) -> Value:
        quotient = c(onnx.Floor(), c(onnx.Div(), a, b))
        return c(onnx.Sub(), a, c(onnx.Mul(), b, quotient))

    return forms.computed_in(c, forms.computing_type(c, element_of(left)), build, left, right)


@exports(ov.Power)
def export_power(c: Conversion, op: ov.Power, base: Value, exponent: Value) -> Value:
    """Write Power as Pow, computed in a type that Pow supports in this opset.

    Narrow integers are computed in i32. u32 and u64, and before opset 12 all integers, are computed
    in f64.
    """
    base, exponent = operands(c, op, base, exponent)
    element = element_of(base)
    chosen = forms.computing_type(c, element, small=None, half=None)
    if element.is_integer and (c.opset < 12 or element in (ElementType.U32, ElementType.U64)):
        chosen = ElementType.F64
    return forms.computed_in(c, chosen, lambda a, b: c(onnx.Pow(), a, b), base, exponent)


@exports(ov.SquaredDifference)
def export_squared_difference(
    c: Conversion, op: ov.SquaredDifference, left: Value, right: Value
) -> Value:
    difference = forms.subtract(c, *operands(c, op, left, right))
    return forms.multiply(c, difference, difference)


Build = Callable[[Conversion, Value, Value], Value]


def wrapping(c: Conversion, build: Build, left: Value, right: Value) -> Value:
    """Emit the operation that `build` makes, so that integer results wrap around as in ONNX.

    8-bit operands are computed in i32, because OpenVINO's CPU saturates their products and
    differences, and rounds their quotients if shapes are unknown.
    """
    element = element_of(left)
    if element not in EIGHT_BITS:
        return build(c, left, right)
    wide = (ov_forms.convert(c, operand, ElementType.I32) for operand in (left, right))
    return ov_forms.convert(c, build(c, *wide), element)


def wrapping_rule(build: Build) -> Callable[..., Value]:
    """Make a conversion rule that emits the operation made by `build`, with wrapping integers.

    8-bit integers are computed in i32, because OpenVINO's CPU plugin would saturate them.
    """

    def rule(c: Conversion, op: Op, left: Value, right: Value) -> Value:
        return wrapping(c, build, left, right)

    return rule


EIGHT_BITS = frozenset({ElementType.I8, ElementType.U8})

imports(onnx.Add)(wrapping_rule(ov_forms.add))
imports(onnx.Sub)(wrapping_rule(ov_forms.subtract))
imports(onnx.Mul)(wrapping_rule(ov_forms.multiply))
imports(onnx.Div)(wrapping_rule(ov_forms.divide))


@imports(onnx.Mod)
def import_mod(c: Conversion, op: onnx.Mod, left: Value, right: Value) -> Value:
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
    zero, infinite = ov_forms.scalar(c, 0, left), ov_forms.scalar(c, math.inf, left)
    ends = ov_forms.equal(c, c(ov.Abs(), right), infinite)
    finite = ov_forms.less(c, c(ov.Abs(), left), infinite)
    below, above = ov_forms.less(c, left, zero), ov_forms.less(c, zero, left)
    other = ov_forms.select(c, ov_forms.less(c, right, zero), above, below)
    chosen = ov_forms.select(c, other, right, left)
    return ov_forms.select(c, c(ov_comparison.LogicalAnd(), ends, finite), chosen, plain)


@imports(onnx.Pow)
def import_pow(c: Conversion, op: onnx.Pow, base: Value, exponent: Value) -> Value:
    """Write Pow as Power, whose operands must have one element type.

    The result has the type of the base. An exponent of another type is converted to the type of the
    base. But if the base is an integer and the exponent a float, the base is converted, and the
    result is converted back.
    """
    element, other = element_of(base), element_of(exponent)
    if element is other:
        return wrapping(c, lambda c, a, b: c(ov.Power(), a, b), base, exponent)
    if element.is_integer and other.is_float:
        wide = ov_forms.convert(c, base, other)
        return ov_forms.convert(c, c(ov.Power(), wide, exponent), element)
    return c(ov.Power(), base, ov_forms.convert(c, exponent, element))


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
def import_mean(c: Conversion, op: onnx.Mean, *values: Value) -> Value:
    total = folding_rule(ov.Add)(c, op, *values)
    return ov_forms.divide(c, total, ov_forms.scalar(c, len(values), total))


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
def export_erf_inv(c: Conversion, op: ov.ErfInv, x: Value) -> Value:
    """Write ErfInv as two polynomials, from which a Where chooses for each element.

    Both approximate the function, the first near 0 and the second near -1 and 1. At -1 and 1
    themselves, the result is infinite.
    """
    return forms.computed_in(c, ElementType.F32, lambda value: _erf_inverse(c, value), x)


def _erf_inverse(c: Conversion, x: Value) -> Value:
    def number(value: float) -> Value:
        return forms.scalar(c, value, x)

    below, above = forms.subtract(c, number(1), x), forms.add(c, number(1), x)
    w = c(onnx.Neg(), c(onnx.Log(), forms.multiply(c, below, above)))
    near = _polynomial(c, forms.subtract(c, w, number(2.5)), ERF_INVERSE_NEAR)
    root = c(onnx.Sqrt(), forms.maximum(c, w, number(5)))
    far = _polynomial(c, forms.subtract(c, root, number(3)), ERF_INVERSE_FAR)
    result = forms.multiply(c, forms.select(c, forms.less(c, w, number(5)), near, far), x)
    edge = forms.equal(c, c(onnx.Abs(), x), number(1))
    return forms.select(c, edge, forms.multiply(c, x, number(math.inf)), result)


def _polynomial(c: Conversion, x: Value, coefficients: tuple[float, ...]) -> Value:
    result = forms.scalar(c, coefficients[0], x)
    for coefficient in coefficients[1:]:
        result = forms.add(c, forms.multiply(c, result, x), forms.scalar(c, coefficient, x))
    return result
