"""Computing precision of the kernels, and suppression of NumPy's floating-point warnings.

16-bit floats are computed in f32. Infinities and NaN are valid results, so the warnings about them
are turned off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

import numpy as np

__all__ = ["bare", "floating", "narrowed", "scalar", "silence", "unwarned", "widened"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

_WIDE = frozenset({np.dtype(np.float32), np.dtype(np.float64)})

#: Number of elements of NumPy's buffers during a run.
BUFFER = 512

#: True inside `silence`, where NumPy's warnings are off for all kernels.
_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def silence() -> Iterator[None]:
    """Turn off warnings of overflow, division by zero and NaN inside the block.

    Turning them off takes longer than a small operation, so a run does it once for all kernels.
    """
    token = _SILENT.set(True)
    try:
        with np.errstate(all="ignore"):
            # Leaving the block restores the buffer size, too. NumPy copies the rows of broadcast
            # operands until a buffer is full; with a small buffer, long rows are not copied.
            np.setbufsize(BUFFER)
            yield
    finally:
        _SILENT.reset(token)


def unwarned(function: Function) -> Function:
    """Wrap `function` so that it does not warn of overflow, division by zero or NaN."""

    @wraps(function)
    def apply(*operands: Any) -> Any:
        if _SILENT.get():
            return function(*operands)
        with np.errstate(all="ignore"):
            return function(*operands)

    apply.__dict__["in_runs"] = function
    return apply


def bare(kernel: Function, *, of_floats: bool) -> Function:
    """Return a kernel without the wrappers that it does not need inside a `silence` block.

    Within such a block, warnings are already off, so no wrapper has to turn them off. If
    `of_floats` is true, the first operand is known to be f32 or f64, and the wrapper that
    converts other types is removed, too. Calling a wrapper takes as long as a small operation.
    """
    while True:
        inner = kernel.__dict__ if hasattr(kernel, "__dict__") else {}
        if of_floats and "of_floats" in inner:
            kernel = inner["of_floats"]
        elif "in_runs" in inner:
            kernel = inner["in_runs"]
        else:
            return kernel


@lru_cache(maxsize=1024)
def scalar(value: float, dtype: np.dtype[Any]) -> Array:
    """`value` as an array without dimensions.

    Used instead of a Python number, which would change the type of 16-bit floats.
    """
    with np.errstate(over="ignore"):
        return np.asarray(value).astype(dtype)


def widened(x: Array) -> Array:
    """Convert types narrower than f32 to f32; return f32 and f64 unchanged."""
    return x if x.dtype in _WIDE else x.astype(np.float32)


#: The attributes with which `blocks.of_blocks` and `writers.new_result` mark a function.
_MARKS = frozenset({"block_step", "makes_new", "over_step"})


def narrowed(result: Array, dtype: np.dtype[Any]) -> Array:
    """Round `result` to the type `dtype`; integers to the nearest, not towards zero."""
    return (np.rint(result) if dtype.kind in "biu" else result).astype(dtype)


def floating(function: Function) -> Function:
    """Wrap a kernel so that it computes in f32 or f64, without warnings.

    16-bit floats are converted to f32 first, as in the runtimes, and the result is rounded once to
    the type of the first operand. So are integers, which OpenVINO's plugin computes likewise.
    """

    def computed(x: Array, *others: Array | None) -> Any:
        if x.dtype in _WIDE:
            return function(x, *others)
        wide = (None if item is None else item.astype(np.float32) for item in (x, *others))
        return narrowed(function(*wide), x.dtype)

    # A run replaces `outer` by `computed`, so `computed` needs the marks of the function, too.
    marks = {name: function.__dict__[name] for name in _MARKS & function.__dict__.keys()}
    computed.__dict__.update(marks)
    outer = wraps(function)(unwarned(computed))
    outer.__dict__["of_floats"] = function
    return outer
