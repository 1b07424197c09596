"""How far two results are apart, relative to the largest value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["are_floats", "are_integers", "are_steps", "distance", "error_of"]


def distance(x: Any, y: Any) -> float:
    """Return the largest difference of two values, divided by the largest magnitude in `x`.

    Infinite if they differ in shape, or in the positions of numbers that are not finite.
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray) or x.shape != y.shape:
        return math.inf
    if x.dtype.kind in "OSU":
        return math.inf
    a, b = x.astype(np.float64), y.astype(np.float64)
    known = np.isfinite(a)
    if (np.isfinite(b) != known).any() or not known.any():
        return math.inf
    scale = float(np.abs(a[known]).max())
    apart = float(np.abs(a[known] - b[known]).max())
    return apart / scale if scale else math.inf if apart else 0.0


def are_floats(x: Any, y: Any) -> bool:
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return False
    return x.shape == y.shape and x.size > 0 and x.dtype == y.dtype and x.dtype.kind in "fV"


def are_integers(*values: Any) -> bool:
    return all(isinstance(value, np.ndarray) and value.dtype.kind in "iu" for value in values)


def are_steps(x: Any, y: Any) -> bool:
    """Return whether each element of `x` differs by at most 1 from that of `y`.

    False unless both are arrays of the same shape and the same 8-bit or 16-bit integer type.
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return False
    narrow = x.dtype.kind in "iu" and x.dtype.itemsize <= 2
    if not narrow or x.dtype != y.dtype or x.shape != y.shape:
        return False
    return bool((np.abs(x.astype(np.int64) - y.astype(np.int64)) <= 1).all())


def error_of(value: Any, exact: Any) -> float | None:
    """Return the largest absolute error of `value`, divided by the largest magnitude in `exact`.

    Both maxima are taken over the finite elements. Returns None in these cases:

    - One of the two is not an array, or their shapes differ.
    - `value` is not a float array.
    - Some position is finite in only one of them, or no position is finite.
    - All finite elements of `exact` are 0, but `value` differs from them.
    """
    if not isinstance(value, np.ndarray) or not isinstance(exact, np.ndarray):
        return None
    if value.shape != exact.shape or value.dtype.kind in "OSUbiuc":
        return None
    a, b = value.astype(np.float64), exact.astype(np.float64)
    known = np.isfinite(b)
    if not known.any() or (np.isfinite(a) != known).any():
        return None
    scale = float(np.abs(b[known]).max())
    error = float(np.abs(a[known] - b[known]).max())
    if not scale:
        return 0.0 if not error else None
    return error / scale
