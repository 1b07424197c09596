"""Measures differences: absolute, relative, and in units in the last place."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from irloop.graph.record import Record

__all__ = [
    "ALLOWANCES",
    "DEFAULT",
    "Allowance",
    "Difference",
    "Tolerance",
    "measure",
    "ulps",
    "within",
]

Array = np.ndarray[Any, np.dtype[Any]]


class Allowance(NamedTuple):
    """The difference allowed for values of some element types, with the reason."""

    types: tuple[str, ...]
    relative: float
    absolute: float
    reason: str


#: The tolerances by element type. A type that an engine computes in another type has that one's.
ALLOWANCES = (
    Allowance(
        ("float64", "complex128"),
        1e-6,
        1e-7,
        "attributes and scales are stored in single precision. OpenVINO computes f64 in f32: its "
        "outputs have the tolerance of f32",
    ),
    Allowance(
        ("float32", "complex64"), 1e-4, 2e-5, "sums are added up in another order, and in loops"
    ),
    Allowance(("float16",), 1e-2, 2e-3, "11 bits, rounded after each operation or after all"),
    Allowance(("bfloat16",), 4e-2, 2e-2, "8 bits, likewise"),
    Allowance(("float8_e4m3fn", "float8_e4m3fnuz"), 0.13, 2**-9, "one step of 4 bits"),
    Allowance(("float8_e5m2", "float8_e5m2fnuz"), 0.26, 2**-16, "one step of 3 bits"),
    Allowance(
        ("float8_e8m0fnu", "float4_e2m1fn"), 0.0, 0.0, "one step is half of the value: exact"
    ),
    Allowance(
        ("integers", "booleans"),
        0.0,
        0.0,
        "exact. In a quantised model, one step in 2 % of the elements of an 8-bit or 16-bit output "
        "is a note, where double precision is as near to both",
    ),
    Allowance(("strings",), 0.0, 0.0, "exact"),
)

#: The same by type name; types without an entry must be equal.
DEFAULT = {name: (item.relative, item.absolute) for item in ALLOWANCES for name in item.types}

#: Types that some engines compute in another type.
_COMPUTED_IN = {"float64": "float32", "complex128": "complex64"}

#: This fraction of the relative tolerance also applies to the largest element of a tensor.
SCALE = 0.1

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


class Tolerance(Record):
    """Values are equal if |x - y| <= absolute + relative * |x|; None: the type's tolerance.

    `single` is set for an engine that computes double precision in single precision.
    """

    relative: float | None = None
    absolute: float | None = None
    single: bool = False

    @property
    def is_given(self) -> bool:
        """True when a tolerance was given explicitly, so that the type's default does not apply."""
        return self.relative is not None or self.absolute is not None

    def of(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The relative and absolute tolerance for arrays of a type."""
        name = _COMPUTED_IN.get(dtype.name, dtype.name) if self.single else dtype.name
        relative, absolute = DEFAULT.get(name, (0.0, 0.0))
        return (
            relative if self.relative is None else self.relative,
            absolute if self.absolute is None else self.absolute,
        )


class Difference(Record):
    """The difference of two arrays of one type and shape; NaN equals NaN.

    `smallest` is the smallest number that would pass as both the relative and the absolute
    tolerance; `worst` is the element furthest outside the tolerance; `ulp` is None for types
    without a last place.
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
        # Unsigned numbers have no negative difference.
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
    """The largest number of representable values between two elements, ignoring NaN."""
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
