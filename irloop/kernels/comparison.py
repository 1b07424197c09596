"""Comparisons, logical operations, selection and bitwise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels.elementwise import align_pdpd

__all__ = [
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "greater",
    "greater_equal",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_zero",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "select",
    "select_pdpd",
    "shift_left",
    "shift_right",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

equal: Function = np.equal
not_equal: Function = np.not_equal
greater: Function = np.greater
greater_equal: Function = np.greater_equal
less: Function = np.less
less_equal: Function = np.less_equal
logical_and: Function = np.logical_and
logical_or: Function = np.logical_or
logical_xor: Function = np.logical_xor
logical_not: Function = np.logical_not
bitwise_and: Function = np.bitwise_and
bitwise_or: Function = np.bitwise_or
bitwise_xor: Function = np.bitwise_xor
#: Inverts booleans and flips all bits of integers.
bitwise_not: Function = np.invert
is_nan: Function = np.isnan
is_finite: Function = np.isfinite
select: Function = np.where


def is_zero(x: Array) -> Array:
    """1 where x is 0, else 0, in the type of x."""
    return np.logical_not(x).astype(x.dtype, copy=False)


def select_pdpd(axis: int) -> Function:
    """Make a kernel of Select with PaddlePaddle's broadcasting.

    Axis 0 of the condition and axis 0 of the `then` operand are aligned with axis `axis` of the
    `otherwise` operand. If `axis` is -1, their last axes are aligned.
    """

    def aligned(condition: Array, then: Array, otherwise: Array) -> Any:
        rank = otherwise.ndim
        return np.where(align_pdpd(condition, rank, axis), align_pdpd(then, rank, axis), otherwise)

    return aligned


def is_inf(*, negative: bool, positive: bool) -> Function:
    """Return a function that tests for infinities of the chosen signs."""
    if negative and positive:
        return np.isinf
    if positive:
        return _is_positive_infinity
    return _is_negative_infinity if negative else _nowhere


def _is_positive_infinity(x: Array) -> Any:
    return np.isinf(x) & (x > np.zeros((), x.dtype))


def _is_negative_infinity(x: Array) -> Any:
    return np.isinf(x) & (x < np.zeros((), x.dtype))


def _nowhere(x: Array) -> Any:
    return np.zeros(x.shape, dtype=np.bool_)


def _outside(left: Array, right: Array) -> Array:
    bits = left.dtype.itemsize * 8
    outside: Array = (right < 0) | (right >= bits)
    return outside


def shift_left(left: Array, right: Array) -> Any:
    """Left shift; the result is 0 if the amount is negative or at least the bit width."""
    outside = _outside(left, right)
    amount = np.where(outside, 0, right).astype(left.dtype)
    return np.where(outside, np.zeros((), left.dtype), np.left_shift(left, amount))


def shift_right(left: Array, right: Array) -> Any:
    """Arithmetic right shift of `left` by `right` bits.

    If the amount is negative or at least the bit width, only the sign is left: 0 or -1.
    """
    widest = left.dtype.itemsize * 8 - 1
    amount = np.where(_outside(left, right), widest, right).astype(left.dtype)
    shifted = np.right_shift(left, amount)
    if left.dtype.kind == "u":
        return np.where(_outside(left, right), np.zeros((), left.dtype), shifted)
    return shifted
