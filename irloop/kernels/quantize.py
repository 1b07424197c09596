"""Quantisation with round half to even and saturation; scales per tensor, axis or block."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from irloop.kernels.convert import cast, is_small_float
from irloop.kernels.matmul import spend_product
from irloop.kernels.precision import widened

__all__ = [
    "convolution_integer",
    "dequantize",
    "dynamic_quantize",
    "fake_quantize",
    "matmul_integer",
    "quantize",
    "quantized_convolution",
    "quantized_matmul",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def fake_quantize(levels: int) -> Function:
    """Make a kernel that rounds x to one of `levels` steps between its input limits.

    The steps are mapped to the output limits. The operands are x, input low, input high, output low
    and output high; they broadcast as in NumPy.
    """

    def apply(x: Array, low: Array, high: Array, out_low: Array, out_high: Array) -> Any:
        wide, low, high, out_low, out_high = map(widened, (x, low, high, out_low, out_high))
        steps = wide.dtype.type(levels - 1)
        with np.errstate(all="ignore"):
            # Multiplied first, so that a number in the middle between two steps stays there.
            inner = np.rint((wide - low) * steps / (high - low)) / steps
            inner = inner * (out_high - out_low) + out_low
            inner = np.where(wide > np.maximum(low, high), out_high, inner)
            return np.where(wide <= np.minimum(low, high), out_low, inner).astype(x.dtype)

    return apply


def _spread(parameter: Array, shape: tuple[int, ...], axis: int, block: int) -> Array:
    """Reshape or repeat a scale or zero point so that it broadcasts to `shape`.

    `parameter` has a single element or one element per index along `axis`. If `block` is not 0, it
    has one element per `block` indices along `axis` instead.
    """
    if parameter.ndim == 0 or parameter.size == 1:
        return parameter.reshape(())
    axis = axis + len(shape) if axis < 0 else axis
    if block:
        return np.repeat(parameter, block, axis=axis).take(np.arange(shape[axis]), axis=axis)
    return parameter.reshape((-1,) + (1,) * (len(shape) - axis - 1))


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return float(limits.min), float(limits.max)


def _saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert to `dtype` and clamp to its range; NaN becomes its lowest value.

    ONNX Runtime on x86 converts NaN in the same way.
    """
    low, high = _limits(dtype)
    bounded: Array = np.clip(np.where(np.isnan(values), low, values), low, high)
    return bounded.astype(np.int64).astype(dtype)


def quantize(
    dtype: np.dtype[Any] | None,
    *,
    axis: int = 1,
    block: int = 0,
    saturate: bool = True,
    precision: np.dtype[Any] | None = None,
) -> Function:
    """Make a kernel that computes round(x / scale) + zero point, saturated to the result type.

    The result has the type of the zero point or, without one, `dtype` (None: u8). Scale and zero
    point hold one element, one per index along `axis`, or one per `block` indices along `axis`. The
    division is done in `precision`, by default f32.
    """

    def apply(x: Array, scale: Array, zero: Array | None = None) -> Any:
        target = dtype if zero is None else zero.dtype
        target = np.dtype(np.uint8) if target is None else target
        wide = x.astype(np.float32 if precision is None else precision)
        with np.errstate(all="ignore"):
            spread = _spread(scale, x.shape, axis, block).astype(wide.dtype)
            ratio = wide / spread
            if is_small_float(target):
                offset = 0 if zero is None else _spread(zero, x.shape, axis, block)
                shifted = widened(ratio) + np.asarray(offset).astype(np.float32)
                return cast(target, saturate=saturate)(shifted)
            rounded = np.rint(ratio).astype(np.float64)
            if zero is not None:
                rounded = rounded + _spread(zero, x.shape, axis, block).astype(np.float64)
            return _saturated(rounded, target)

    return apply


def dequantize(dtype: np.dtype[Any] | None, *, axis: int = 1, block: int = 0) -> Function:
    """Make a kernel that computes (x - zero point) * scale.

    Scale and zero point hold one element, one per index along `axis`, or one per `block` indices
    along `axis`. The result has the type `dtype` or, if `dtype` is None, the type of the scale.
    """

    def apply(x: Array, scale: Array, zero: Array | None = None) -> Any:
        factor = _spread(scale, x.shape, axis, block)
        exact = np.float32 if is_small_float(x.dtype) else np.int64
        wide = x.astype(exact)
        with np.errstate(all="ignore"):
            if zero is not None:
                wide = wide - _spread(zero, x.shape, axis, block).astype(exact)
            result = wide.astype(widened(factor).dtype) * widened(factor)
            return result.astype(scale.dtype if dtype is None else dtype)

    return apply


def dynamic_quantize(x: Array) -> tuple[Array, Array, Array]:
    """Quantize x to u8; scale and zero point are computed from its range, extended to include 0.

    If all elements are 0, the scale is 1, as in ONNX Runtime; the standard does not define it.
    """
    zero = np.zeros((), x.dtype)
    low = np.minimum(x.min(initial=np.inf), zero)
    high = np.maximum(x.max(initial=-np.inf), zero)
    with np.errstate(all="ignore"):
        scale = ((high - low) / x.dtype.type(255)).astype(x.dtype)
        scale = np.where(high == low, np.ones((), x.dtype), scale)
        offset = np.clip(np.rint(np.nan_to_num(-low / scale)), 0, 255).astype(np.uint8)
        codes = np.where(scale == 0, offset, np.rint(x / scale) + offset)
    return np.clip(np.nan_to_num(codes), 0, 255).astype(np.uint8), scale, offset


def _less(x: Array, zero: Array | None, column: bool = False) -> Array:
    # Products of 8-bit numbers are exact in f64 up to 2**37 terms, and fast.
    wide = x.astype(np.float64)
    if zero is None:
        return wide
    offset = zero.astype(np.float64)
    return wide - (offset[..., None] if column and offset.ndim == 1 and offset.size > 1 else offset)


def _wrapped(values: Array) -> Any:
    return values.astype(np.int64).astype(np.int32)


def matmul_integer(
    left: Array, right: Array, left_zero: Array | None = None, right_zero: Array | None = None
) -> Any:
    """(left - zero point) @ (right - zero point) in i32; zero points per row and per column."""
    first, second = _less(left, left_zero, column=True), _less(right, right_zero)
    spend_product(first, second)
    return _wrapped(np.matmul(first, second))


def convolution_integer(convolution: Function) -> Function:
    """Make a kernel that subtracts zero points, then applies `convolution`, with a result in i32.

    The kernel takes the data, the filters and, optionally, the zero point of each.
    """

    def apply(x: Array, w: Array, x_zero: Array | None = None, w_zero: Array | None = None) -> Any:
        filters = _less(w, None if w_zero is None else _first_axis(w_zero, w.ndim))
        return _wrapped(convolution(_less(x, x_zero), filters))

    return apply


def _first_axis(parameter: Array, rank: int) -> Array:
    return parameter if parameter.size == 1 else parameter.reshape((-1,) + (1,) * (rank - 1))


def _requantized(total: Array, factor: Array, zero: Array) -> Any:
    with np.errstate(all="ignore"):
        # Runtimes scale the exact sum in f32 and round once.
        rounded = np.rint(total.astype(np.float32) * factor.astype(np.float32))
        return _saturated(rounded.astype(np.float64) + zero.astype(np.float64), zero.dtype)


def quantized_matmul(
    left: Array,
    left_scale: Array,
    left_zero: Array,
    right: Array,
    right_scale: Array,
    right_zero: Array,
    scale: Array,
    zero: Array,
) -> Any:
    """Multiply two quantized matrices and quantize the product.

    `left_scale` may have one element per row, and `right_scale` one per column.
    """
    first, second = _less(left, left_zero, column=True), _less(right, right_zero)
    spend_product(first, second)
    total = np.matmul(first, second)
    rows = left_scale.astype(np.float32)
    rows = rows[..., None] if rows.ndim == 1 and rows.size > 1 else rows
    factor = rows * right_scale.astype(np.float32) / scale.astype(np.float32)
    return _requantized(total, factor.reshape(()) if factor.size == 1 else factor, zero)


def quantized_convolution(convolution: Function) -> Function:
    """Make a kernel that applies `convolution` to quantized operands and requantizes the result.

    The bias is i32.
    """

    def apply(
        x: Array,
        x_scale: Array,
        x_zero: Array,
        w: Array,
        w_scale: Array,
        w_zero: Array,
        scale: Array,
        zero: Array,
        bias: Array | None = None,
    ) -> Any:
        filters = _less(w, _first_axis(w_zero, w.ndim))
        wide = None if bias is None else bias.astype(np.float64)
        total = convolution(_less(x, x_zero), filters, wide)
        factor = x_scale.astype(np.float32) * w_scale.astype(np.float32) / scale
        if factor.size > 1:
            factor = factor.reshape((-1,) + (1,) * (x.ndim - 2))
        return _requantized(total, factor.reshape(()) if factor.size == 1 else factor, zero)

    return apply
