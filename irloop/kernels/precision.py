"""In which precision kernels compute, and that overflow is a value and no event to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

import numpy as np

__all__ = ["floating", "scalar", "silence", "unwarned", "widened"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

_WIDE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})

#: True inside `silence`, where NumPy has been told once for all kernels.
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """No warnings of overflow, division by zero or NaN inside.

    Telling NumPy so takes longer than a small operation: a run does it once, not each kernel.
    """
    token = _SILENT.set(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _SILENT.reset(token)


def unwarned(function: Function) -> Function:
    """`function` of arrays without warnings of overflow, division by zero or NaN."""

    @wraps(function)
    def apply(*operands: Any) -> Any:
        if _SILENT.get():
            return function(*operands)
        with np.errstate(all="ignore"):
            return function(*operands)

    return apply


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

    def computed(x: Array, *others: Array | None) -> Any:
        if x.dtype in _WIDE:
            return function(x, *others)
        wide = (None if item is None else item.astype(np.float32) for item in (x, *others))
        return function(*wide).astype(x.dtype)

    return wraps(function)(unwarned(computed))
