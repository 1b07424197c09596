"""Conversion between element types."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from irloop import budget
from irloop.kernels.precision import unwarned
from irloop.kernels.work import spend_each

__all__ = [
    "bit_cast",
    "cast",
    "cast_like",
    "decoding_nf4",
    "fake_convert",
    "from_nf4",
    "identity",
    "is_small_float",
    "promote",
    "to_bit",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: OpenVINO converts to these types by way of f16.
_THROUGH_HALF = frozenset(map(np.dtype, (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)))

_SMALL_FLOATS = frozenset(
    np.dtype(kind)
    for kind in (
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float4_e2m1fn,
    )
)
_SMALL_INTEGERS = frozenset(
    np.dtype(kind) for kind in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2)
)

#: Values of the 16 nf4 codes (Dettmers et al., "QLoRA", 2023, appendix E).
_NF4_VALUES = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)


def from_nf4(codes: Array) -> Array:
    """Convert nf4 elements, given as integers from 0 to 15, to their f32 values."""
    return np.array(_NF4_VALUES, dtype=np.float32)[codes]


def decoding_nf4(function: Function) -> Function:
    """Wrap `function` so that its first operand is decoded from nf4 before the call.

    The wrapper takes the 4-bit integers of the nf4 data as its first operand.
    """

    def apply(codes: Array, *others: Array) -> Any:
        return function(from_nf4(codes), *others)

    return apply


def identity(x: Any) -> Any:
    """Return the operand itself."""
    return x


def is_small_float(dtype: np.dtype[Any]) -> bool:
    """Return whether this is a 4-bit or 8-bit floating-point type."""
    return dtype in _SMALL_FLOATS


@cache
def _largest(dtype: np.dtype[Any]) -> float:
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return float(limits.max)


def cast(
    dtype: np.dtype[Any],
    *,
    saturate: bool = False,
    round_mode: str = "nearest",
    through_half: bool = False,
) -> Function:
    """Make a kernel that converts arrays to `dtype`.

    Floats are truncated toward zero when they become integers, and integers that are too large wrap
    around. A number becomes True if it is not 0; a string becomes True if it starts with an integer
    other than 0.

    Args:
        dtype: the element type of the result.
        saturate: convert numbers that are too large for a 4-bit or 8-bit float to the largest
            number of that type; if false, they become infinity or NaN, whichever the type has.
        round_mode: up, down or nearest; only for float8_e8m0, the type of powers of two.
        through_half: round to f16 before rounding to an 8-bit float, as OpenVINO does.
    """
    if dtype == np.dtype(object):
        return _to_string
    if dtype == np.dtype(ml_dtypes.float8_e8m0fnu):
        return _to_power_of_two(dtype, saturate, round_mode)
    if is_small_float(dtype):
        return _to_small_float(dtype, saturate, through_half and dtype in _THROUGH_HALF)

    @unwarned
    def apply(x: Array) -> Any:
        if x.dtype == dtype:
            return x
        if dtype in _SMALL_INTEGERS:
            return _wide(x).astype(np.int64).astype(dtype)
        if dtype.kind == "b":
            return _truth(x) if x.dtype.kind == "O" else _wide(x) != 0
        return _from(x).astype(dtype)

    return apply


def _from(x: Array) -> Array:
    if x.dtype in _SMALL_FLOATS:
        return x.astype(np.float32)
    if x.dtype.kind == "O":
        spend_each(x.size, 400, "reading numbers from text")
    return x.astype(np.int8) if x.dtype in _SMALL_INTEGERS else x


#: The integer at the start of a text; what follows it is ignored.
_INTEGER = re.compile(r"\s*[+-]?([0-9]+)", re.ASCII)


def _truth(x: Array) -> Array:
    """Convert strings to booleans as ONNX Runtime does: by the integer at their beginning.

    The result is False if this integer is 0, so "0.5" gives False and "2.5" gives True.

    Raises:
        ValueError: when a string does not begin with an integer, or begins with an integer of more
            than 64 bits.
    """
    spend_each(x.size, 400, "reading numbers from text")
    truths = []
    for text in x.reshape(-1).tolist():
        match = _INTEGER.match(str(text))
        if match is None or len(match[1].lstrip("0")) > 20 or int(match[1]) >= 1 << 64:
            raise ValueError(f"ONNX Runtime cannot convert {text!r} to a boolean")
        truths.append(int(match[1]) != 0)
    return np.array(truths, bool).reshape(x.shape)


def _wide(x: Array) -> Array:
    if x.dtype.kind == "O":
        spend_each(x.size, 400, "reading numbers from text")
        return x.astype(np.float64)
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def _to_string(x: Array) -> Any:
    if x.dtype.kind == "O":
        return x
    spend_each(x.size, 2000, "writing numbers as text")
    budget.reserve(256 * x.size, "writing numbers as text")
    if x.dtype.kind == "b":
        return x.astype(np.int8).astype(np.str_).astype(object)
    if x.dtype.kind in "iu":
        return x.astype(np.str_).astype(object)
    texts = [_number_as_text(number) for number in x.astype(np.float64).reshape(-1).tolist()]
    return np.array(texts, object).reshape(x.shape)


def _number_as_text(number: float) -> str:
    """Write a float as ONNX Runtime's Cast does: up to 8 digits, or NaN, INF or -INF."""
    if math.isfinite(number):
        return f"{number:.8g}"
    return "NaN" if math.isnan(number) else "INF" if number > 0 else "-INF"


def _to_small_float(dtype: np.dtype[Any], saturate: bool, through_half: bool) -> Function:
    def apply(x: Array) -> Any:
        if x.dtype == dtype:
            return x
        spend_each(x.size, 400 if x.dtype.kind == "O" else 30, "rounding to 8 bits")
        wide = x.astype(np.float64) if x.dtype.kind == "O" else x
        wide = wide if wide.dtype == np.float64 else wide.astype(np.float32)
        with np.errstate(all="ignore"):
            if through_half:
                wide = wide.astype(np.float32).astype(np.float16)
            result = wide.astype(dtype)
            if not saturate:
                return result
            largest = _largest(dtype)
            bounded = np.clip(wide, -largest, largest).astype(dtype)
            return np.where(np.isnan(wide), result, bounded)

    return apply


def _to_power_of_two(dtype: np.dtype[Any], saturate: bool, round_mode: str) -> Function:
    def apply(x: Array) -> Any:
        if x.dtype == dtype:
            return x
        wide = np.abs(x.astype(np.float32))
        with np.errstate(all="ignore"):
            fraction, exponent = np.frexp(wide)
            exponent = exponent - 1
            if round_mode == "up":
                exponent = exponent + (fraction > 0.5)
            elif round_mode == "nearest":
                exponent = exponent + (fraction >= 0.75)
            codes = exponent + 127
            # Code 255 is NaN: a value that is too large becomes NaN or, with `saturate`, code 254.
            codes = np.where(wide == 0, 0, np.clip(codes, 0, 254 if saturate else 255))
            codes = np.where(np.isinf(wide), 254 if saturate else 255, codes)
            codes = np.where(np.isnan(wide), 255, codes)
        return codes.astype(np.uint8).view(dtype)

    return apply


def to_bit(x: Array) -> Any:
    """1 where x is not 0; each uint8 item of the result holds one bit."""
    return cast(np.dtype(np.bool_))(x).astype(np.uint8)


def cast_like(**options: Any) -> Function:
    """Make a kernel that converts the first operand to the element type of the second.

    `options` are those of `cast`.
    """

    def apply(x: Array, like: Array) -> Any:
        return cast(like.dtype, **options)(x)

    return apply


def promote(u64_target: np.dtype[Any], *, pytorch_scalars: bool) -> Function:
    """Make a kernel that converts two operands to their common element type.

    The rules are those of ConvertPromoteTypes-14. `u64_target` is the common type of u64 and a
    signed integer. With `pytorch_scalars`, a scalar is converted to the type of the tensor, unless
    the scalar's own type is of a higher kind (booleans are lowest, then integers, then floats).
    """

    def apply(left: Array, right: Array) -> tuple[Any, Any]:
        common = _common(left, right, u64_target, pytorch_scalars)
        convert = cast(common)
        return convert(left), convert(right)

    return apply


def _kind(dtype: np.dtype[Any]) -> int:
    return 0 if dtype.kind == "b" else 1 if dtype.kind in "iu" else 2


def _common(
    left: Array, right: Array, u64_target: np.dtype[Any], pytorch_scalars: bool
) -> np.dtype[Any]:
    kinds = (left.dtype, right.dtype)
    if kinds[0] == kinds[1]:
        return kinds[0]
    if pytorch_scalars and (left.ndim == 0) != (right.ndim == 0):
        scalar, tensor = kinds if left.ndim == 0 else kinds[::-1]
        if _kind(scalar) <= _kind(tensor):
            return tensor
    low, high = sorted(kinds, key=_kind)
    if _kind(low) != _kind(high):
        return high
    if _kind(low) == 1 and {kinds[0].kind, kinds[1].kind} == {"i", "u"}:
        signed, unsigned = kinds if kinds[0].kind == "i" else kinds[::-1]
        if signed.itemsize <= unsigned.itemsize == 8:
            return u64_target
        return np.promote_types(signed, unsigned)
    if kinds[0].itemsize == kinds[1].itemsize:
        return np.dtype(np.float16 if kinds[0].itemsize == 1 else np.float32)
    return max(kinds, key=lambda kind: kind.itemsize)


def fake_convert(dtype: np.dtype[Any]) -> Function:
    """Make a kernel that computes (round(x * scale - shift) + shift) / scale.

    `round` rounds to the type `dtype` and saturates. The kernel takes x, the scale and, optionally,
    the shift (0 by default).
    """
    convert = cast(dtype, saturate=True, through_half=True)

    def apply(x: Array, scale: Array, shift: Array | None = None) -> Any:
        with np.errstate(all="ignore"):
            wide, factor = x.astype(np.float32), scale.astype(np.float32)
            offset = np.zeros((), np.float32) if shift is None else shift.astype(np.float32)
            rounded = convert(wide * factor - offset).astype(np.float32)
            return ((rounded + offset) / factor).astype(x.dtype)

    return apply


def bit_cast(dtype: np.dtype[Any]) -> Function:
    """Make a kernel that reinterprets the bits of its operand as `dtype`.

    `dtype` must be as wide as the type of the operand.
    """

    def apply(x: Array) -> Any:
        return np.ascontiguousarray(x).view(dtype).reshape(x.shape)

    return apply
