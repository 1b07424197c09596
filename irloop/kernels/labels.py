"""Class labels as arrays, and lookup between strings and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop.kernels.features import lookup

__all__ = ["array_of", "two_ways"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

_KINDS: dict[type, Any] = {str: object, int: np.int64, float: np.float32}


def array_of(items: Sequence[Any]) -> Array:
    """Convert an attribute with strings, integers (i64) or floats (f32) to an array."""
    return np.array(items, dtype=_KINDS[type(items[0])] if items else np.float32)


def two_ways(
    strings: Sequence[str], numbers: Sequence[int], default: str, default_number: int
) -> Function:
    """Return a function that maps strings to numbers, or numbers to strings.

    The type of its operand decides the direction. If a string or number occurs several times in the
    table, the last entry counts; if it does not occur, the result is `default` or `default_number`.
    """
    names, places = np.array(strings, dtype=object), np.array(numbers, dtype=np.int64)
    forth, back = lookup(names, places, default_number), lookup(places, names, default)
    return lambda x: forth(x) if x.dtype.kind == "O" else back(x)
