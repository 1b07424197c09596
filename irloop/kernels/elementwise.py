"""Elementwise arithmetic with the rounding and overflow of the runtimes."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Array", "add"]

Array = np.ndarray[Any, np.dtype[Any]]


def add(left: Array, right: Array) -> Array:
    """left + right, numpy broadcast; integers wrap."""
    result: Array = np.add(left, right)
    return result
