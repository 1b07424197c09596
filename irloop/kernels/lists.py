"""Lists of sizes, axes and bounds that operations take as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["listed"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Maximum length of a list of sizes, axes, bounds or lengths of parts.
LONGEST = 1 << 16


def listed(numbers: Array) -> list[Any]:
    """The elements of a tensor of any shape as a list of Python numbers.

    Raises:
        ValueError: when there are too many for a list.
    """
    if numbers.size > LONGEST:
        raise ValueError(f"a list of {numbers.size} numbers where at most {LONGEST} make sense")
    found: list[Any] = numbers.reshape(-1).tolist()
    return found
