"""How far two values are apart: absolutely, relatively, in units of the last place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["DEFAULT", "Difference", "Tolerance", "measure", "ulps", "within"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Relative and absolute tolerance by type; what is not here has to be equal.
DEFAULT = {
    "bfloat16": (4e-2, 2e-2),
    "float16": (1e-2, 2e-3),
    "float32": (1e-4, 2e-5),
    "float64": (1e-4, 2e-5),
    "complex64": (1e-4, 2e-5),
    "complex128": (1e-4, 2e-5),
}

#: This part of the relative tolerance also holds for the largest element of a tensor.
SCALE = 0.1

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What counts as equal: |x - y| <= absolute + relative * |x|; None takes the type's own."""

    relative: float | None = None
    absolute: float | None = None

    @property
    def is_given(self) -> bool:
        """Whether one of the two was chosen, rather than taken from the type."""
        return self.relative is not None or self.absolute is not None

    def of(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The relative and absolute tolerance for arrays of a type."""
        relative, absolute = DEFAULT.get(dtype.name, (0.0, 0.0))
        return (
            relative if self.relative is None else self.relative,
            absolute if self.absolute is None else self.absolute,
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """What is between two arrays of one type and shape; NaN on both sides is equal.

    `smallest` is the smallest number that passes as relative and absolute tolerance at once;
    `worst` is the element that is furthest outside of the tolerance, `ulp` is None for types
    that have no last place.
    """

    equal: bool
    wrong: int
    absolute: float
    relative: float
    ulp: int | None
    smallest: float
    worst: tuple[int, ...] | None


def within(x: Array, y: Array, tolerance: Tolerance) -> Array:
    """Where two arrays of one type and shape agree."""
    if x.dtype.kind in "OSU":
        same: Array = np.asarray(x == y)
        return same
    relative, absolute = tolerance.of(x.dtype)
    a, b = _wide(x), _wide(y)
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    if relative == 0 and absolute == 0:
        return np.asarray(equal)
    finite = np.isfinite(a)
    size = np.where(finite, np.abs(a), 0.0)
    allowed = absolute + relative * (size + SCALE * size.max(initial=0.0))
    with np.errstate(all="ignore"):
        return np.asarray(equal | (finite & (np.abs(a - b) <= allowed)))


def measure(x: Array, y: Array, tolerance: Tolerance) -> Difference:
    """The difference of two arrays of one type and shape."""
    good = within(x, y, tolerance)
    wrong = int(good.size - np.count_nonzero(good))
    if x.dtype.kind in "OSU" or x.size == 0:
        first = tuple(int(at) for at in np.argwhere(~good)[0]) if wrong else None
        return Difference(not wrong, wrong, 0.0, 0.0, None, 0.0, first)
    a, b = _wide(x), _wide(y)
    with np.errstate(all="ignore"):
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        # Unsigned numbers have no negative difference to take the absolute value of.
        between = np.abs(a - b) if a.dtype.kind in "fc" else np.where(a > b, a - b, b - a)
        apart = np.where(equal, 0.0, between)
        apart = np.where(np.isnan(apart), np.inf, apart)
        size = np.abs(a)
        relative = np.where(apart == 0, 0.0, apart / np.where(size == 0, np.nan, size))
        relative = np.where(np.isnan(relative), np.inf, relative)
        smallest = np.where(apart == 0, 0.0, apart / (1.0 + np.where(np.isfinite(size), size, 0)))
        ranked = np.where(good, -1.0, apart)
    worst = np.unravel_index(int(np.argmax(ranked)), x.shape) if wrong else None
    return Difference(
        not wrong,
        wrong,
        float(apart.max()),
        float(relative.max()),
        ulps(x, y),
        float(smallest.max()),
        None if worst is None else tuple(int(at) for at in worst),
    )


def ulps(x: Array, y: Array) -> int | None:
    """The largest number of representable values between two elements that are no NaN."""
    if x.dtype not in _FLOATS or x.size == 0:
        return None
    a, b = _ordered(x), _ordered(y)
    known = ~(np.isnan(_wide(x)) | np.isnan(_wide(y)))
    if not known.any():
        return None
    high, low = np.maximum(a, b)[known], np.minimum(a, b)[known]
    # The distance of the two infinities of f64 does not fit an int64.
    return int((high.astype(np.uint64) - low.astype(np.uint64)).max())


_FLOATS = tuple(map(np.dtype, (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)))


def _ordered(x: Array) -> Array:
    """Bit patterns as integers that count the representable values in order."""
    bits = np.ascontiguousarray(x).view(_BITS[x.dtype.itemsize])
    width = 8 * x.dtype.itemsize
    magnitude = (bits & bits.dtype.type((1 << (width - 1)) - 1)).astype(np.int64)
    negative = (bits >> bits.dtype.type(width - 1)).astype(bool)
    counted: Array = np.where(negative, -magnitude, magnitude)
    return counted


def _wide(x: Array) -> Array:
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    # f64 cannot tell large 64-bit integers apart.
    return x if x.dtype.kind in "iub" and x.dtype.itemsize == 8 else x.astype(np.float64)
