"""Elementwise arithmetic with the rounding and overflow of the runtimes.

Operands have one element type, which the result keeps; shapes broadcast as in NumPy. Integers wrap
around. Overflow and division by zero, where they are legal, give no warning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import numpy as np

from irloop.kernels.blocks import in_blocks
from irloop.kernels.precision import unwarned
from irloop.kernels.special import erf as _erf
from irloop.kernels.special import erf_inverse as _erf_inverse
from irloop.kernels.writers import WIDE, new_result

__all__ = [
    "Array",
    "absolute",
    "acos",
    "acosh",
    "add",
    "align_pdpd",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceiling",
    "cos",
    "cosh",
    "divide",
    "divide_floor",
    "erf",
    "erf_inverse",
    "exp",
    "floor",
    "floor_mod",
    "fold",
    "log",
    "maximum",
    "mean",
    "minimum",
    "modulo",
    "multiply",
    "negative",
    "pdpd",
    "power",
    "reciprocal",
    "round_half_away",
    "round_half_even",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: Powers of arrays with at most this many elements are left to NumPy.
_FEW = 1 << 6

add: Function = np.add
subtract: Function = np.subtract
multiply: Function = np.multiply
negative: Function = np.negative
absolute: Function = np.abs


def maximum(left: Array, right: Array) -> Any:
    """The larger operand, with NumPy broadcasting; 4-bit integers keep their type."""
    made = np.maximum(left, right)
    return made if made.dtype == left.dtype else made.astype(left.dtype)


def minimum(left: Array, right: Array) -> Any:
    """The smaller operand, with NumPy broadcasting; 4-bit integers keep their type."""
    made = np.minimum(left, right)
    return made if made.dtype == left.dtype else made.astype(left.dtype)


def align_pdpd(array: Array, rank: int, axis: int) -> Array:
    """Append dimensions of 1 to `array` so that its first axis broadcasts against axis `axis`.

    `rank` is the rank of the other operand, to which `axis` refers. If `axis` is -1, the last
    dimensions are aligned already, and `array` is returned. Trailing dimensions of size 1 that
    would exceed the rank are dropped first.
    """
    if axis == -1:
        return array
    shape = array.shape
    while len(shape) + axis > rank and shape[-1:] == (1,):
        shape = shape[:-1]
    return array.reshape(shape + (1,) * (rank - axis - len(shape)))


def pdpd(function: Function, axis: int) -> Function:
    """Return `function` with its second operand aligned to `axis` of the first.

    This is how PaddlePaddle broadcasts.
    """

    def aligned(left: Array, right: Array) -> Any:
        return function(left, align_pdpd(right, left.ndim, axis))

    return aligned


def fold(function: Function) -> Function:
    """Turn a function of two operands into one of any number of operands, applied left to right."""

    def folded(*operands: Array) -> Any:
        return reduce(function, operands)

    return folded


def mean(*operands: Array) -> Any:
    """The mean of the operands, with NumPy broadcasting."""
    total = reduce(np.add, operands)
    return divide(total, np.asarray(len(operands), dtype=total.dtype))


def _bounded(function: Function) -> Function:
    """Wrap a function of floats so that it also accepts integers.

    Integers are computed in f64, and the result is rounded to the nearest integer.
    """

    @wraps(function)
    def apply(x: Array) -> Any:
        if x.dtype.kind in "iu":
            return np.nan_to_num(np.rint(function(x.astype(np.float64)))).astype(x.dtype)
        return function(x)

    apply.__dict__["of_floats"] = function
    return apply


def _quiet(function: Function) -> Function:
    """Wrap a function of floats so that it also accepts integers, and emits no NumPy warnings.

    Integers are computed in f64, and the result is rounded to the nearest integer. The warnings are
    those about overflow and undefined results.
    """
    return wraps(function)(unwarned(_bounded(function)))


acos = _quiet(np.arccos)
acosh = _quiet(np.arccosh)
asin = _quiet(np.arcsin)
asinh = _bounded(np.arcsinh)
atan = _bounded(np.arctan)
atanh = _quiet(np.arctanh)
cos = _quiet(np.cos)
cosh = _quiet(np.cosh)
erf = _bounded(_erf)
erf_inverse = _quiet(_erf_inverse)
exp = _quiet(np.exp)
log = _quiet(np.log)
sin = _quiet(np.sin)
sinh = _quiet(np.sinh)
sqrt = _quiet(np.sqrt)
tan = _quiet(np.tan)
tanh = _bounded(np.tanh)


def ceiling(x: Array) -> Any:
    """Round up; integers are returned unchanged."""
    return x if x.dtype.kind in "iub" else np.ceil(x)


def floor(x: Array) -> Any:
    """Round down; integers are returned unchanged."""
    return x if x.dtype.kind in "iub" else np.floor(x)


def round_half_even(x: Array) -> Any:
    """Round to nearest, ties to even; integers are returned unchanged."""
    return x if x.dtype.kind in "iub" else np.rint(x)


@unwarned
def round_half_away(x: Array) -> Any:
    """Round to nearest, ties away from zero; integers are returned unchanged."""
    if x.dtype.kind in "iub":
        return x
    # Adding 0.5 first would round 0.49999997 up.
    whole = np.trunc(x)
    away = np.abs(x - whole) >= np.asarray(0.5, x.dtype)
    return np.where(away, whole + np.copysign(np.ones_like(x), x), whole).astype(x.dtype)


@unwarned
def sign(x: Array) -> Any:
    """-1, 0 or 1; NaN for NaN."""
    return np.sign(x)


@unwarned
def reciprocal(x: Array) -> Any:
    """1 / x."""
    return np.divide(np.ones((), x.dtype), x)


@unwarned
@new_result
def divide(left: Array, right: Array) -> Any:
    """left / right; integers truncate toward zero."""
    if left.dtype.kind not in "iu":
        return np.divide(left, right)
    quotient = np.floor_divide(left, right)
    if left.dtype.kind == "u":
        return quotient
    inexact = quotient * right != left
    return quotient + (inexact & ((left < 0) != (right < 0)) & (right != 0))


@unwarned
def divide_floor(left: Array, right: Array) -> Any:
    """left / right; integers round toward minus infinity."""
    if left.dtype.kind in "iu":
        return np.floor_divide(left, right)
    return np.divide(left, right)


@unwarned
def modulo(left: Array, right: Array) -> Any:
    """The remainder with the sign of the dividend."""
    return np.fmod(left, right)


@unwarned
def floor_mod(left: Array, right: Array) -> Any:
    """The remainder with the sign of the divisor."""
    return np.mod(left, right)


@unwarned
def power(base: Array, exponent: Array) -> Any:
    """base ** exponent in the element type of the base."""
    kind = base.dtype
    if kind.kind not in "iu":
        return _float_power(base, exponent.astype(kind, copy=False))
    if exponent.dtype.kind in "iu" and not (exponent < 0).any():
        return np.power(base, exponent.astype(kind, copy=False))
    result = np.power(base.astype(np.float64), exponent.astype(np.float64))
    return np.nan_to_num(np.trunc(result)).astype(kind)


def _float_power(base: Array, exponent: Array) -> Any:
    """Compute base ** exponent for floats of one element type.

    NumPy computes the powers of negative numbers one at a time, which takes fifty times as long. If
    the exponent of a large array is a single integer, the powers of the absolute values are
    computed instead. If this integer is odd, the result then gets the signs of the base.
    """
    if base.dtype not in WIDE or base.size <= _FEW or exponent.size != 1:
        return np.power(base, exponent)
    value = float(exponent.reshape(()))
    # NumPy computes a square as a product, which is fast for negative numbers, too.
    if not value.is_integer() or value == 2 or exponent.ndim > base.ndim:
        return np.power(base, exponent)

    def step(source: Array, out: Array) -> None:
        np.power(np.abs(source, out=out), exponent.reshape(()), out=out)
        if value % 2:
            np.copysign(out, source, out=out)

    return in_blocks(step, base)


def squared_difference(left: Array, right: Array) -> Any:
    """(left - right) ** 2."""
    difference = np.subtract(left, right)
    return np.multiply(difference, difference)
