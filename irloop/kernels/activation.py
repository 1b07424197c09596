"""Activation functions: one float array in, an array of the same element type out.

16-bit floats are computed in f32 and rounded once at the end, as the runtimes do. Only
`staged_softmax` rounds after each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from irloop.kernels.blocks import constant, in_blocks, of_blocks, on_itself
from irloop.kernels.precision import floating, scalar, unwarned, widened
from irloop.kernels.special import erf
from irloop.kernels.writers import WIDE, writes

__all__ = [
    "celu",
    "clamp",
    "clip",
    "elu",
    "gated",
    "gelu_erf",
    "gelu_tanh",
    "grn",
    "h_sigmoid",
    "hard_sigmoid",
    "hard_swish",
    "hardmax",
    "leaky_relu",
    "log_softmax",
    "mish",
    "per_row",
    "prelu",
    "prelu_channel",
    "relu",
    "selu",
    "shrink",
    "sigmoid",
    "softmax",
    "softplus",
    "softsign",
    "staged_softmax",
    "swiglu",
    "swish",
    "thresholded_relu",
    "with_scalars",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: With at most this many elements, the calls that save memory take longer than they save.
_FEW = 1 << 10


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, constant(0, x), out=out)


@of_blocks(_relu, on_itself(_relu))
def relu(x: Array) -> Any:
    """max(x, 0)."""
    if x.size <= _FEW:
        return np.maximum(x, scalar(0, x.dtype))
    return in_blocks(_relu, x)


def _sigmoid(x: Array, out: Array) -> None:
    one = scalar(1, x.dtype)
    np.exp(np.negative(x, out), out)
    np.reciprocal(np.add(out, one, out), out)


@floating
@of_blocks(_sigmoid, on_itself(_sigmoid))
@writes(lambda x: _sigmoid if x.dtype in WIDE else None)
def sigmoid(x: Array) -> Any:
    """1 / (1 + exp(-x))."""
    if x.size <= _FEW:
        one = scalar(1, x.dtype)
        return one / (one + np.exp(-x))
    return in_blocks(_sigmoid, x)


@floating
def softplus(x: Array) -> Any:
    """log(1 + exp(x)), computed without overflow."""
    return np.logaddexp(x, scalar(0, x.dtype))


@floating
def softsign(x: Array) -> Any:
    """x / (1 + |x|)."""
    return x / (scalar(1, x.dtype) + np.abs(x))


@floating
def mish(x: Array) -> Any:
    """x * tanh(log(1 + exp(x)))."""
    return x * np.tanh(np.logaddexp(x, scalar(0, x.dtype)))


def _six_steps(x: Array, out: Array) -> None:
    """min(max(x + 3, 0), 6)."""
    np.add(x, scalar(3, x.dtype), out=out)
    np.minimum(np.maximum(out, constant(0, out), out=out), constant(6, out), out=out)


def _hard_swish(x: Array, out: Array) -> None:
    _six_steps(x, out)
    np.divide(np.multiply(x, out, out=out), scalar(6, x.dtype), out=out)


def _over_hard_swish(x: Array, room: Array) -> None:
    _six_steps(x, room)
    np.divide(np.multiply(x, room, out=x), scalar(6, x.dtype), out=x)


@floating
@of_blocks(_hard_swish, _over_hard_swish)
def hard_swish(x: Array) -> Any:
    """x * min(max(x + 3, 0), 6) / 6."""
    return in_blocks(_hard_swish, x)


def _h_sigmoid(x: Array, out: Array) -> None:
    _six_steps(x, out)
    np.divide(out, scalar(6, x.dtype), out=out)


@floating
@of_blocks(_h_sigmoid, on_itself(_h_sigmoid))
def h_sigmoid(x: Array) -> Any:
    """min(max(x + 3, 0), 6) / 6."""
    return in_blocks(_h_sigmoid, x)


@floating
def swish(x: Array, beta: Array | None = None) -> Any:
    """x * sigmoid(beta * x); beta is 1 when omitted."""
    factor = scalar(-1, x.dtype) if beta is None else -beta.reshape(())

    def step(source: Array, out: Array) -> None:
        np.exp(np.multiply(source, factor, out=out), out=out)
        np.divide(source, np.add(out, scalar(1, x.dtype), out=out), out=out)

    return in_blocks(step, x)


def _over_gated(x: Array, room: Array) -> None:
    np.exp(np.negative(x, room), room)
    np.divide(x, np.add(room, scalar(1, x.dtype), room), x)


def gated(multiply: Function, sigmoid: Function) -> Function:
    """Make a kernel that computes multiply(x, sigmoid(x)).

    For this kernel, `over_step` returns a faster function, which overwrites one block of x.
    """

    def apply(x: Array) -> Any:
        return multiply(x, sigmoid(x))

    apply.__dict__["over_step"] = _over_gated
    return apply


def swiglu(alpha: float) -> Function:
    """Make a kernel that computes swish(gate, alpha) * x for the operands gate and x."""

    @floating
    def apply(gate: Array, x: Array) -> Any:
        return swish(gate, scalar(alpha, gate.dtype)) * x

    return apply


@floating
def gelu_erf(x: Array) -> Any:
    """x / 2 * (1 + erf(x / sqrt(2)))."""
    return in_blocks(_gelu_erf, x)


def _gelu_erf(x: Array, out: Array) -> None:
    kind = x.dtype
    inner = erf(x * scalar(math.sqrt(0.5), kind))
    np.multiply(x, scalar(0.5, kind), out=out)
    np.multiply(out, np.add(inner, scalar(1, kind), out=inner), out=out)


@floating
def gelu_tanh(x: Array) -> Any:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    return in_blocks(_gelu_tanh, x)


def _gelu_tanh(x: Array, out: Array) -> None:
    kind = x.dtype
    inner = x + scalar(0.044715, kind) * x * x * x
    inner = np.tanh(scalar(math.sqrt(2 / math.pi), kind) * inner)
    np.multiply(scalar(0.5, kind) * x, scalar(1, kind) + inner, out=out)


def elu(alpha: float) -> Function:
    """Make a kernel that returns x where x > 0, else alpha * (exp(x) - 1)."""

    @floating
    def apply(x: Array) -> Any:
        zero = scalar(0, x.dtype)
        below = scalar(alpha, x.dtype) * np.expm1(np.minimum(x, zero))
        return np.where(x > zero, x, below)

    return apply


def celu(alpha: float) -> Function:
    """Make a kernel that computes max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    @floating
    def apply(x: Array) -> Any:
        zero, factor = scalar(0, x.dtype), scalar(alpha, x.dtype)
        return np.maximum(zero, x) + np.minimum(zero, factor * np.expm1(x / factor))

    return apply


@floating
def selu(x: Array, alpha: Array, gain: Array) -> Any:
    """gain * x where x > 0, else gain * alpha * (exp(x) - 1)."""
    zero = scalar(0, x.dtype)
    below = alpha * np.expm1(np.minimum(x, zero))
    return (gain * np.where(x > zero, x, below)).reshape(x.shape)


@floating
def hard_sigmoid(x: Array, alpha: Array, beta: Array) -> Any:
    """max(0, min(1, alpha * x + beta))."""
    line = alpha.reshape(()) * x + beta.reshape(())
    return np.maximum(scalar(0, x.dtype), np.minimum(scalar(1, x.dtype), line))


def with_scalars(function: Function, *values: float) -> Function:
    """Return `function` of x alone, with its other operands fixed to the given numbers."""

    def apply(x: Array) -> Any:
        return function(x, *(scalar(value, x.dtype) for value in values))

    return apply


def leaky_relu(alpha: float) -> Function:
    """Make a kernel that returns x where x >= 0, else alpha * x."""

    @floating
    def apply(x: Array) -> Any:
        return np.where(x < scalar(0, x.dtype), x * scalar(alpha, x.dtype), x)

    return apply


@unwarned
def prelu(x: Array, slope: Array) -> Any:
    """x where x >= 0, else slope * x; the slope broadcasts to trailing dimensions."""
    return np.where(x < scalar(0, x.dtype), x * slope, x)


def prelu_channel(x: Array, slope: Array) -> Any:
    """Compute PReLU, where a slope vector of several elements applies to axis 1 of the data.

    The slope is converted to the type of the data.
    """
    if slope.ndim == 1 and slope.size != 1 and x.ndim > 1:
        slope = slope.reshape((slope.size,) + (1,) * (x.ndim - 2))
    return prelu(x, slope.astype(x.dtype, copy=False))


def thresholded_relu(alpha: float) -> Function:
    """Make a kernel that returns x where x > alpha, else 0."""

    def apply(x: Array) -> Any:
        return np.where(x > scalar(alpha, x.dtype), x, scalar(0, x.dtype))

    return apply


def shrink(bias: float, limit: float) -> Function:
    """Make a kernel that returns x + bias below -limit, x - bias above limit, and 0 between."""

    def apply(x: Array) -> Any:
        wide = widened(x) if x.dtype.kind not in "iu" else x.astype(np.float64)
        with np.errstate(all="ignore"):
            above = np.where(wide > limit, wide - bias, 0)
            return np.where(wide < -limit, wide + bias, above).astype(x.dtype)

    return apply


def _bound(value: float, dtype: np.dtype[Any]) -> Array:
    if dtype.kind not in "iu":
        return scalar(value, dtype)
    limits = np.iinfo(dtype)
    if value <= limits.min or value >= limits.max:
        return np.asarray(limits.min if value <= limits.min else limits.max, dtype)
    return np.asarray(int(value), dtype)


def clamp(low: float, high: float) -> Function:
    """Return a function that computes min(max(x, low), high).

    For integers, `low` is rounded up and `high` is rounded down.
    """

    @lru_cache(maxsize=16)
    def bounds(dtype: np.dtype[Any]) -> tuple[Array, Array]:
        if dtype.kind not in "iu" or math.isnan(low) or math.isnan(high):
            return scalar(low, dtype), scalar(high, dtype)
        lower = low if math.isinf(low) else math.ceil(low)
        upper = high if math.isinf(high) else math.floor(high)
        return _bound(lower, dtype), _bound(upper, dtype)

    def step(x: Array, out: Array) -> None:
        lower, upper = bounds(x.dtype)
        np.minimum(np.maximum(x, lower, out=out), upper, out=out)

    def quick(x: Array, out: Array) -> None:
        np.minimum(np.maximum(x, constant(low, out), out=out), constant(high, out), out=out)

    def apply(x: Array) -> Any:
        return in_blocks(quick if x.dtype.kind == "f" else step, x)

    return apply


def clip(x: Array, low: Array | None = None, high: Array | None = None) -> Any:
    """min(max(x, low), high); either bound may be missing."""
    if low is not None:
        x = np.maximum(x, low.reshape(()))
    return x if high is None else np.minimum(x, high.reshape(()))


def softmax(axis: int) -> Function:
    """Make a kernel that divides exp(x) by its sum over `axis`."""

    @floating
    def apply(x: Array) -> Any:
        if x.size == 0:
            return x
        made = np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True))
        np.exp(made, out=made)
        return np.divide(made, np.add.reduce(made, axis=axis, keepdims=True), out=made)

    return apply


def staged_softmax(axis: int) -> Function:
    """Make a softmax kernel that rounds 16-bit floats after each step, as in ONNX's function body.

    The steps are the differences from the maximum, their exponentials, the sum and the quotient.
    """
    whole = softmax(axis)

    @unwarned
    def by_stages(x: Array) -> Any:
        exponentials = np.exp(x - np.maximum.reduce(x, axis=axis, keepdims=True))
        total = _narrow_sum(np.moveaxis(exponentials, axis, -1))
        return exponentials / np.expand_dims(total, axis)

    def apply(x: Array) -> Any:
        return by_stages(x) if x.size and widened(x) is not x else whole(x)

    return apply


def _narrow_sum(x: Array) -> Array:
    """Sum f16 or bf16 along the last axis, with the accuracy of NumPy's sum.

    f16 is summed in f32. bf16 is summed in pairs: a running total would stop growing once the next
    value is smaller than half a unit in the last place of the total.
    """
    if x.dtype == np.float16:
        total: Array = np.add.reduce(np.ascontiguousarray(x), axis=-1)
        return total
    while x.shape[-1] > 8:
        half = x.shape[-1] // 2
        rest = x[..., 2 * half :]
        x = np.concatenate((x[..., :half] + x[..., half : 2 * half], rest), axis=-1)
    return reduce(np.add, (x[..., at] for at in range(x.shape[-1])))


def log_softmax(axis: int) -> Function:
    """Return a function that computes the logarithm of the softmax over `axis`."""

    @floating
    def apply(x: Array) -> Any:
        if x.size == 0:
            return x
        shifted = x - np.maximum.reduce(x, axis=axis, keepdims=True)
        return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))

    return apply


def hardmax(axis: int) -> Function:
    """Make a kernel that returns 1 at the first maximum along `axis`, and 0 elsewhere."""

    def apply(x: Array) -> Any:
        result = np.zeros_like(x)
        if x.size:
            where = np.expand_dims(np.argmax(x, axis=axis), axis)
            np.put_along_axis(result, where, np.ones((), x.dtype), axis=axis)
        return result

    return apply


def per_row(function: Function, axis: int) -> Function:
    """Return a kernel that applies `function` to its operand, reshaped to a matrix.

    The dimensions before `axis` become the rows of the matrix, the others the columns: with `axis`
    1, [2, 3, 4] becomes [2, 12]. The result is reshaped back to the shape of the operand.
    """

    def apply(x: Array) -> Any:
        # An axis equal to the rank is allowed: then each element is a row.
        start = axis + x.ndim if axis < 0 else axis
        rows = math.prod(x.shape[:start])
        return function(x.reshape(rows, math.prod(x.shape[start:]))).reshape(x.shape)

    return apply


def grn(bias: float) -> Function:
    """Make a kernel that computes x / sqrt(s + bias), where s is the sum of x * x over axis 1."""

    @floating
    def apply(x: Array) -> Any:
        total = np.add.reduce(x * x, axis=1, keepdims=True)
        return x / np.sqrt(total + scalar(bias, x.dtype))

    return apply
