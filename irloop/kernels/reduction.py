"""Reductions over axes. 16-bit floats are accumulated in f32; integers wrap around.

A core function takes (data, axes, keepdims); `axes` None means all axes. `by_input` and
`by_attribute` turn a core function into the kernel of an operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels.elementwise import divide
from irloop.kernels.precision import unwarned, widened

__all__ = [
    "by_attribute",
    "by_input",
    "l1",
    "l2",
    "log_sum",
    "log_sum_exp",
    "logical_and",
    "logical_or",
    "maximum",
    "mean",
    "minimum",
    "onnx_by_input",
    "product",
    "sum_square",
    "total",
]

Array = np.ndarray[Any, np.dtype[Any]]
Axes = tuple[int, ...] | None
Core = Callable[[Array, Axes, bool], Any]

_add: Callable[..., Any] = np.add.reduce
_and: Callable[..., Any] = np.logical_and.reduce
_or: Callable[..., Any] = np.logical_or.reduce


def _unique(axes: Array, rank: int) -> tuple[int, ...]:
    # Duplicates are removed, because NumPy refuses an axis that is named twice.
    return tuple({int(axis) + rank if axis < 0 else int(axis) for axis in axes.reshape(-1)})


def by_input(core: Core, *, keep: bool) -> Callable[[Array, Array], Any]:
    """Make a reduction that reads its axes from the second operand.

    If the list of axes is empty, nothing is reduced.
    """

    def apply(data: Array, axes: Array) -> Any:
        if axes.size == 1:
            return core(data, (int(axes.reshape(-1)[0]),), keep)
        return core(data, _unique(axes, data.ndim), keep)

    return apply


def onnx_by_input(core: Core, *, keep: bool, noop: bool) -> Callable[..., Any]:
    """Make the kernel of an ONNX reduction whose axes are an optional second input.

    `core` computes the reduction. With `keep`, reduced axes stay in the result with size 1. If the
    input with the axes is missing or empty, all axes are reduced; with `noop`, none is.
    """

    def apply(data: Array, axes: Array | None = None) -> Any:
        if axes is None or axes.size == 0:
            return core(data, () if noop else None, keep)
        return core(data, _unique(axes, data.ndim), keep)

    return apply


def by_attribute(core: Core, axes: Axes, *, keep: bool) -> Callable[[Array], Any]:
    """Return a function that reduces along fixed `axes` with `core`; None means all axes."""

    def apply(data: Array) -> Any:
        if axes is None:
            return core(data, None, keep)
        return core(data, _unique(np.array(axes, dtype=np.int64), data.ndim), keep)

    return apply


def _accumulated(function: Callable[..., Any]) -> Core:
    @unwarned
    def apply(data: Array, axes: Axes, keep: bool) -> Any:
        kind = data.dtype
        if kind.kind in "iu":
            return function(data, axis=axes, keepdims=keep, dtype=kind)
        wide = widened(data)
        result = function(wide, axis=axes, keepdims=keep)
        return result if wide is data else result.astype(kind)

    return apply


total = _accumulated(np.add.reduce)
product = _accumulated(np.multiply.reduce)


@unwarned
def mean(data: Array, axes: Axes, keep: bool) -> Any:
    """The mean; for integers truncated toward zero."""
    count = data.size if axes is None else math.prod(data.shape[axis] for axis in axes)
    if data.dtype.kind in "iu":
        whole = _add(data, axis=axes, keepdims=keep, dtype=np.int64)
        return divide(np.asarray(whole), np.asarray(count)).astype(data.dtype)
    wide = widened(data)
    result = _add(wide, axis=axes, keepdims=keep) / wide.dtype.type(count)
    return result.astype(data.dtype)


def _extremum(function: Callable[..., Any], lowest: bool) -> Core:
    def apply(data: Array, axes: Axes, keep: bool) -> Any:
        if data.size:
            # NumPy returns the extremum of 4-bit integers as i8.
            found = function(data, axis=axes, keepdims=keep)
            return np.asarray(found).astype(data.dtype, copy=False)
        return function(data, axis=axes, keepdims=keep, initial=_limit(data.dtype, lowest))

    return apply


def _limit(dtype: np.dtype[Any], lowest: bool) -> Any:
    if dtype.kind == "b":
        return not lowest
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
    return np.asarray(-math.inf if lowest else math.inf).astype(dtype)


maximum = _extremum(np.maximum.reduce, lowest=True)
minimum = _extremum(np.minimum.reduce, lowest=False)


def logical_and(data: Array, axes: Axes, keep: bool) -> Any:
    """True where all elements are true."""
    return _and(data, axis=axes, keepdims=keep)


def logical_or(data: Array, axes: Axes, keep: bool) -> Any:
    """True where any element is true."""
    return _or(data, axis=axes, keepdims=keep)


def l1(data: Array, axes: Axes, keep: bool) -> Any:
    """The sum of absolute values."""
    return total(np.abs(data), axes, keep)


@unwarned
def sum_square(data: Array, axes: Axes, keep: bool) -> Any:
    """The sum of squares."""
    wide = data if data.dtype.kind in "iu" else widened(data)
    return np.asarray(total(wide * wide, axes, keep)).astype(data.dtype)


@unwarned
def l2(data: Array, axes: Axes, keep: bool) -> Any:
    """The square root of the sum of squares; for integers truncated, as in OpenVINO.

    Squares of integers are summed in f64, as in the runtimes: the root may fit into the type
    although the sum does not.
    """
    wide = data.astype(np.float64) if data.dtype.kind in "iu" else widened(data)
    roots = np.sqrt(np.asarray(total(wide * wide, axes, keep)))
    return _fitting(roots, data.dtype)


def _fitting(x: Any, dtype: np.dtype[Any]) -> Any:
    """Convert floats to `dtype`; if that is an integer type, truncate and clamp to its range."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # The largest i64 is not exact in f64: it rounds up to a number that is too large.
        high = np.nextafter(float(limits.max) + 1, 0.0)
        x = np.clip(np.nan_to_num(np.trunc(x)), float(limits.min), high)
    return np.asarray(x).astype(dtype)


@unwarned
def log_sum(data: Array, axes: Axes, keep: bool) -> Any:
    """The logarithm of the sum; integers are summed in f64 and the result truncated."""
    wide = data.astype(np.float64) if data.dtype.kind in "iu" else widened(data)
    return _fitting(np.log(np.asarray(total(wide, axes, keep))), data.dtype)


@unwarned
def log_sum_exp(data: Array, axes: Axes, keep: bool) -> Any:
    """The logarithm of the sum of exponentials, shifted by the maximum to avoid overflow."""
    wide = data.astype(np.float64) if data.dtype.kind in "iu" else widened(data)
    peak = np.asarray(maximum(wide, axes, True))
    peak = np.where(np.isfinite(peak), peak, np.zeros((), wide.dtype))
    sums = _add(np.exp(wide - peak), axis=axes, keepdims=True)
    result = np.log(sums) + peak
    if not keep:
        result = np.squeeze(result, axis=axes)
    return _fitting(result, data.dtype)
