"""Tells whether corresponding values of two models agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.comparison import measure
from irloop.comparison.measure import Tolerance

__all__ = ["agree"]

#: A trip count or an end of a slice that is at least this large means "no limit".
NO_LIMIT = 2**31 - 1

Array = np.ndarray[Any, np.dtype[Any]]


def agree(before: Any, made: Any, tolerance: Tolerance) -> bool:
    """Return whether two corresponding values are equal within the tolerance.

    Arrays may differ in shape but not in their number of elements, because one format keeps the
    axis of a slice and the other drops it. Element types must be equal, or both be integer or
    boolean. Only arrays are compared: if either value is something else, the result is True.
    """
    if not isinstance(before, np.ndarray | np.generic) or not isinstance(
        made, np.ndarray | np.generic
    ):
        return True
    x, y = np.asarray(before), np.asarray(made)
    if x.size != y.size:
        # A name may denote a slice in one model and an element in the other.
        return False
    if x.dtype != y.dtype:
        # The two formats have different types for trip counts and iteration numbers.
        return x.dtype.kind in "iub" and y.dtype.kind in "iub" and _integers_agree(x, y)
    return measure.agree(x.reshape(-1), y.reshape(-1), tolerance)


def _integers_agree(x: Array, y: Array) -> bool:
    """Return whether integers of different types are equal.

    Very large integers, which mean "no limit", are equal to each other whatever their values.
    """
    left, right = (item.reshape(-1).astype(np.float64) for item in (x, y))
    is_small = np.maximum(np.abs(left), np.abs(right)) < NO_LIMIT
    return bool((left[is_small] == right[is_small]).all())
