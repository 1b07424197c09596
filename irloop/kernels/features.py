"""Features for classical machine learning (ai.onnx.ml): lookup, encoding, scaling, joining."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop.kernels.precision import unwarned

__all__ = [
    "binarizer",
    "extract",
    "imputer",
    "joiner",
    "lookup",
    "normalizer",
    "one_hot",
    "scaler",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _places(keys: Array, x: Array) -> tuple[Array, Array]:
    """Look up the elements of `x` in `keys`; return the indices, and which elements were found.

    If keys are equal, the last one counts. NaN equals NaN.
    """
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    last = np.searchsorted(ranked, x, side="right") - 1
    nearest = ranked[last]
    hit = np.asarray(nearest == x, dtype=np.bool_)
    if keys.dtype.kind == "f":
        hit |= np.isnan(nearest) & np.isnan(x)
    return order[last], hit & (np.asarray(last) >= 0)


def lookup(keys: Array, values: Array, default: Any) -> Function:
    """Make a kernel that replaces each element of its input by the value of the equal key.

    An element that equals no key becomes `default`. If several keys are equal, the last one counts.
    """
    fallback = np.array(default, dtype=values.dtype)

    def apply(x: Array) -> Array:
        if not len(keys):
            return np.broadcast_to(fallback, x.shape).copy()
        place, hit = _places(keys, x)
        return np.asarray(np.where(hit, values[place], fallback), dtype=values.dtype)

    return apply


def one_hot(categories: Array, *, strict: bool) -> Function:
    """Make a kernel for one-hot encoding as f32, along a new last axis.

    The result is 1 at the category of each element, and 0 elsewhere. Numbers are truncated to
    integers first. With `strict` the kernel raises ValueError for an element that is in no
    category.
    """

    def apply(x: Array) -> Array:
        items = x if x.dtype.kind == "O" else x.astype(np.int64)
        place, hit = _places(categories, items)
        if strict and not hit.all():
            raise ValueError(f"{items[~hit].flat[0]!r} is not one of the categories")
        result = np.zeros((*x.shape, len(categories)), dtype=np.float32)
        np.put_along_axis(result, place[..., None], hit[..., None].astype(np.float32), axis=-1)
        return result

    return apply


def extract(x: Array, indices: Array) -> Array:
    """Select the columns `indices` along the last axis of `x`.

    If `x` has one axis, the result is a matrix of one row.

    Raises:
        ValueError: when a column does not exist.
    """
    columns = indices.reshape(-1)
    if columns.size and not 0 <= columns.min() <= columns.max() < x.shape[-1]:
        raise ValueError(f"columns {columns.tolist()} do not exist in {x.shape[-1]} columns")
    return x.reshape(1, -1)[:, columns] if x.ndim == 1 else x[..., columns]


def binarizer(threshold: float) -> Function:
    """Make a kernel that returns 1 where an element is greater than `threshold`, else 0."""
    return lambda x: (x > threshold).astype(x.dtype)


def imputer(replaced: float, imputed: Sequence[float]) -> Function:
    """Return a function that replaces elements equal to `replaced`, which may be NaN.

    `imputed` holds one replacement for all columns, or one for each column.
    """

    def apply(x: Array) -> Array:
        missing = np.isnan(x) if math.isnan(replaced) else x == x.dtype.type(replaced)
        return np.where(missing, np.array(imputed, dtype=x.dtype), x)

    return apply


def _lengths(x: Array, norm: str) -> Array:
    if norm == "MAX":
        return np.asarray(np.abs(x).max(axis=-1, keepdims=True))
    if norm == "L1":
        return np.asarray(np.abs(x).sum(axis=-1, keepdims=True))
    return np.asarray(np.sqrt(np.square(x).sum(axis=-1, keepdims=True)))


def normalizer(norm: str) -> Function:
    """Make a kernel that divides the rows of [C] or [N, C] by their norm; the result is f32.

    `norm` is MAX (the largest absolute value), L1 or L2. A row of zeros stays zero.
    """

    @unwarned
    def apply(x: Array) -> Array:
        wide = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
        if not x.size:
            return wide.astype(np.float32)
        length = _lengths(wide, norm)
        return np.where(length == 0, wide, wide / length).astype(np.float32)

    return apply


def scaler(offset: Sequence[float], scale: Sequence[float]) -> Function:
    """Make a kernel that computes (x - offset) * scale as f32.

    `offset` and `scale` hold one number for all columns, or one per column.
    """
    shift, factor = (np.array(item, dtype=np.float32) for item in (offset, scale))

    @unwarned
    def apply(x: Array) -> Array:
        wide: Array = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
        wide = np.subtract(wide, shift)
        return np.multiply(wide, factor).astype(np.float32)

    return apply


def joiner(widths: Sequence[int]) -> Function:
    """Make a kernel that concatenates inputs [N, C] as f32.

    Input i is cut or zero-padded to `widths[i]` columns. An input [C] counts as [1, C].
    """

    def fitted(x: Array, width: int) -> Array:
        rows = x.reshape(1, -1) if x.ndim < 2 else x.reshape(len(x), -1)
        missing = max(width - rows.shape[1], 0)
        return np.pad(rows[:, :width], ((0, 0), (0, missing))).astype(np.float32)

    def apply(*inputs: Array) -> Array:
        return np.concatenate([fitted(*item) for item in zip(inputs, widths, strict=True)], axis=1)

    return apply
