"""Elementwise functions of several steps, over blocks that stay in the cache of a core."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["BLOCK", "constant", "in_blocks"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Number of elements of a block.
BLOCK = 1 << 14

#: Arrays with fewer elements gain nothing from a second operand of the same length.
_SMALL = 1 << 8


def in_blocks(step: Callable[[Array, Array], Any], x: Array) -> Any:
    """A new array like `x`, filled by `step(source, target)` block by block."""
    if x.ndim == 0:
        # Operations on an array without dimensions return scalars, which cannot be written into.
        return in_blocks(step, x.reshape(1)).reshape(())
    made = np.empty_like(x)
    if x.size <= BLOCK or not x.flags.c_contiguous:
        step(x, made)
        return made
    source, target = x.reshape(-1), made.reshape(-1)
    for first in range(0, source.size, BLOCK):
        step(source[first : first + BLOCK], target[first : first + BLOCK])
    return made


def constant(value: float, like: Array) -> Array:
    """`value` as the second operand of `np.minimum` or `np.maximum` with `like`, read-only.

    `like` has at most `BLOCK` elements. NumPy takes an array of the same length several times as
    fast as a scalar. If `like` is small or not 1-D, the result has no dimensions.
    """
    if like.ndim != 1 or like.size < _SMALL:
        return _filled(value, like.dtype, 1)[0, ...]
    return _filled(value, like.dtype, BLOCK)[: like.size]


@lru_cache(maxsize=64)
def _filled(value: float, dtype: np.dtype[Any], size: int) -> Array:
    made = np.full(size, value, dtype)
    made.flags.writeable = False
    return made
