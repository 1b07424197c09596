"""In which precision kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np

__all__ = ["floating", "scalar", "widened"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

_WIDE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


@lru_cache(maxsize=1024)
def scalar(value: float, dtype: np.dtype[Any]) -> Array:
    """`value` as an array without dimensions; a Python number would change 16-bit types."""
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(dtype)


def widened(x: Array) -> Array:
    """`x` in f32 where its own type is narrower; f32 and f64 as they are."""
    return x if x.dtype in _WIDE else x.astype(np.float32)


def floating(function: Function) -> Function:
    """Compute in f32 or f64, without warnings, and round once to the type of the first operand.

    Runtimes hold 16-bit floats and compute on them in f32.
    """

    @wraps(function)
    def apply(x: Array, *others: Array | None) -> Any:
        with np.errstate(all="ignore"):
            if x.dtype in _WIDE:
                return function(x, *others)
            wide = (None if item is None else item.astype(np.float32) for item in (x, *others))
            return function(*wide).astype(x.dtype)

    return apply
