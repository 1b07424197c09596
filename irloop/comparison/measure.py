"""Measures differences: absolute, relative, and in units in the last place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from irloop import budget
from irloop.graph.record import Record

__all__ = [
    "ALLOWANCES",
    "DEFAULT",
    "Allowance",
    "Difference",
    "Tolerance",
    "agree",
    "all_finite",
    "all_nan",
    "measure",
    "ulps",
    "wide_blocks",
    "within",
]

Array = np.ndarray[Any, np.dtype[Any]]


class Allowance(NamedTuple):
    """How much the values of some element types may differ, and the reason."""

    types: tuple[str, ...]
    relative: float
    absolute: float
    reason: str


#: The tolerances, by element type. If an engine computes in another type, the tolerance of that
#: type applies.
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
    Allowance(
        ("float16",), 1e-2, 2e-3, "11 bits; engines round after each operation, or once at the end"
    ),
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
        "exact. In a quantised model, a difference of one step in 2 % of the elements of an "
        "8-bit or 16-bit output is only a note, if double precision is as near to both",
    ),
    Allowance(("strings",), 0.0, 0.0, "exact"),
)

#: The same tolerances, keyed by type name; elements of other types must be equal.
DEFAULT = {name: (item.relative, item.absolute) for item in ALLOWANCES for name in item.types}

#: Types that some engines compute in another type.
_COMPUTED_IN = {"float64": "float32", "complex128": "complex64"}

#: This fraction of the relative tolerance also applies to the largest element of a tensor.
SCALE = 0.1

#: Floats of this fraction of the largest number of their type count as infinite.
LIMIT = 0.999

#: The largest number of each type that masks have.
_LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float(np.finfo(np.float32).max),
    "float64": float(np.finfo(np.float64).max),
}

#: Number of elements that are compared at a time.
BLOCK = 1 << 18

#: Elements per step of the budget if their bits are equal.
ELEMENTS_A_STEP = 4096

#: Elements per step of the budget if their bits differ.
DIFFERENT_A_STEP = 256

_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Tolerance(Record):
    """Values are equal if |x - y| <= absolute + relative * |x|.

    None means the default of the element type. `single` is set for an engine that computes double
    precision in single precision.
    """

    relative: float | None = None
    absolute: float | None = None
    single: bool = False

    @property
    def is_given(self) -> bool:
        """Return whether a tolerance was given explicitly, so that the type's default does not
        apply.
        """
        return self.relative is not None or self.absolute is not None

    def of(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The relative and absolute tolerance for arrays of a type."""
        name = _COMPUTED_IN.get(dtype.name, dtype.name) if self.single else dtype.name
        relative, absolute = DEFAULT.get(name, (0.0, 0.0))
        return (
            relative if self.relative is None else self.relative,
            absolute if self.absolute is None else self.absolute,
        )

    def beyond(self, dtype: np.dtype[Any]) -> float | None:
        """The size from which floats count as infinite; None for types without infinity.

        Models mask by the lowest number of a type, and some engines by infinity, or they add two
        such numbers.
        """
        name = _COMPUTED_IN.get(dtype.name, dtype.name) if self.single else dtype.name
        return LIMIT * _LARGEST[name] if name in _LARGEST else None


class Difference(Record):
    """The difference of two arrays of the same type and shape; NaN equals NaN.

    `smallest` is the smallest value that would pass as both the relative and the absolute
    tolerance; `worst` is the element furthest outside the tolerance; `ulp` is None for integers and
    other types without a last place.
    """

    equal: bool
    wrong: int
    absolute: float
    relative: float
    ulp: int | None
    smallest: float
    worst: tuple[int, ...] | None


def within(x: Array, y: Array, tolerance: Tolerance) -> Array:
    """Return a mask that is true where two arrays of the same type and shape agree."""
    if x.dtype.kind in "OSU":
        same: Array = np.asarray(x == y)
        return same
    allowed = _Allowed(x, tolerance)
    good = np.empty(x.size, np.bool_)
    for part, mine, other in _blocks(x, y):
        good[part] = True if _same_bits(mine, other) else allowed.good(mine, other)
    return good.reshape(x.shape)


def agree(x: Array, y: Array, tolerance: Tolerance) -> bool:
    """Return whether all elements of `x` and `y` are equal within the tolerance.

    The caller must ensure that the arrays have the same element type and shape; this is not
    checked.
    """
    if x.dtype.kind in "OSU":
        return bool(within(x, y, tolerance).all())
    allowed = _Allowed(x, tolerance)
    return all(
        _same_bits(mine, other) or bool(allowed.good(mine, other).all())
        for _, mine, other in _blocks(x, y)
    )


def measure(x: Array, y: Array, tolerance: Tolerance) -> Difference:
    """The difference of two arrays of one type and shape."""
    if x.dtype.kind in "OSU" or x.size == 0:
        good = within(x, y, tolerance)
        wrong = int(good.size - np.count_nonzero(good))
        first = tuple(int(at) for at in np.argwhere(~good)[0]) if wrong else None
        return Difference(not wrong, wrong, 0.0, 0.0, None, 0.0, first)
    allowed = _Allowed(x, tolerance)
    wrong, furthest, place = 0, -1.0, 0
    absolute = relative = smallest = 0.0
    last_places: list[int] = []
    for part, mine, other in _blocks(x, y):
        ulp = ulps(mine, other)
        last_places += [] if ulp is None else [ulp]
        if _same_bits(mine, other):
            continue
        good = allowed.good(mine, other)
        apart, ratio, sufficient = _apart(*allowed.joined(mine, other))
        absolute = max(absolute, float(apart.max()))
        relative = max(relative, float(ratio.max()))
        smallest = max(smallest, float(sufficient.max()))
        count = int(good.size - np.count_nonzero(good))
        if not count:
            continue
        wrong += count
        ranked = np.where(good, -1.0, apart)
        at = int(np.argmax(ranked))
        if ranked[at] > furthest:
            furthest, place = float(ranked[at]), part.start + at
    worst = tuple(int(at) for at in np.unravel_index(place, x.shape)) if wrong else None
    return Difference(
        not wrong, wrong, absolute, relative, max(last_places, default=None), smallest, worst
    )


def all_finite(x: Array) -> bool:
    """Return whether an array contains neither NaN nor infinity."""
    return all(bool(np.isfinite(_wide(part)).all()) for _, part, _ in _blocks(x, x))


def all_nan(x: Array) -> bool:
    """Return whether every element of an array is NaN."""
    return all(bool(np.isnan(_wide(part)).all()) for _, part, _ in _blocks(x, x))


class _Allowed:
    """Decides which elements of `x` and another array are equal within a tolerance.

    The tolerance of an element depends on its own size and on the largest element of `x`.
    """

    def __init__(self, x: Array, tolerance: Tolerance) -> None:
        self._relative, self._absolute = tolerance.of(x.dtype)
        self._exact = self._relative == 0 and self._absolute == 0
        self._beyond = None if self._exact else tolerance.beyond(x.dtype)
        self._largest = 0.0 if self._exact else _largest(x)

    def joined(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Convert both to a wide type, with one value where both are as good as infinite."""
        a, b = _wide(x), _wide(y)
        if self._beyond is None:
            return a, b
        both = (np.minimum(a, b) >= self._beyond) | (np.maximum(a, b) <= -self._beyond)
        return a, np.where(both, a, b)

    def good(self, x: Array, y: Array) -> Array:
        """Return a mask that is true where elements of `x` and `y` agree.

        `x` and `y` are corresponding parts of the two arrays that are compared.
        """
        budget.spend(x.size // DIFFERENT_A_STEP, "comparing values")
        a, b = self.joined(x, y)
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        if self._exact:
            return np.asarray(equal)
        finite = np.isfinite(a)
        size = np.where(finite, np.abs(a), 0.0)
        allowed = self._absolute + self._relative * size + self._relative * SCALE * self._largest
        with np.errstate(all="ignore"):
            return np.asarray(equal | (finite & (np.abs(a - b) <= allowed)))


def _largest(x: Array) -> float:
    """The largest absolute value of the finite elements."""
    largest = 0.0
    for _, part, _ in _blocks(x, x):
        size = np.abs(_wide(part))
        largest = max(largest, float(size.max(initial=0.0, where=np.isfinite(size))))
    return largest


def _apart(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Compare two arrays element by element; return three measures of the difference.

    These are the absolute difference, the difference relative to `x`, and the smallest tolerance t
    with which the elements would count as equal: abs(x - y) <= t + t * abs(x).
    """
    a, b = _wide(x), _wide(y)
    with np.errstate(all="ignore"):
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        # A difference of unsigned integers cannot be negative.
        between = np.abs(a - b) if a.dtype.kind in "fc" else np.where(a > b, a - b, b - a)
        apart = np.where(equal, 0.0, between)
        apart = np.where(np.isnan(apart), np.inf, apart)
        size = np.abs(a)
        relative = np.where(apart == 0, 0.0, apart / np.where(size == 0, np.nan, size))
        relative = np.where(np.isnan(relative), np.inf, relative)
        smallest = np.where(apart == 0, 0.0, apart / (1.0 + np.where(np.isfinite(size), size, 0)))
    return apart, relative, smallest


def _blocks(x: Array, y: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Yield (slice, block of x, block of y) for two flattened arrays of the same shape.

    Blocks are used because converting whole outputs to a wide type could take gigabytes.
    """
    flat, other = x.reshape(-1), y.reshape(-1)
    for start in range(0, x.size, BLOCK):
        part = slice(start, min(start + BLOCK, x.size))
        budget.spend(1 + (part.stop - start) // ELEMENTS_A_STEP, "comparing values")
        yield part, flat[part], other[part]


def wide_blocks(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    """Yield corresponding blocks of two arrays of one shape, converted for a comparison.

    Complex numbers become c128 and others f64; 64-bit integers remain, as f64 is not exact enough.
    """
    for _, mine, other in _blocks(x, y):
        yield _wide(mine), _wide(other)


def _same_bits(x: Array, y: Array) -> bool:
    if x.dtype.itemsize not in _BITS:
        return False
    bits = _BITS[x.dtype.itemsize]
    return x.dtype == y.dtype and bool((x.view(bits) == y.view(bits)).all())


def ulps(x: Array, y: Array) -> int | None:
    """Return the largest distance between elements of `x` and `y` at the same position.

    The distance is counted in units in the last place: 1 for neighbouring floats. Positions where
    `x` or `y` is NaN are ignored. Returns None if the elements are not floats, or if no position is
    left.
    """
    if x.dtype not in _FLOATS or x.size == 0:
        return None
    if _same_bits(x, y):
        return 0 if bool((x == y).any()) else None
    a, b = _ordered(x), _ordered(y)
    known = ~(np.isnan(_wide(x)) | np.isnan(_wide(y)))
    if not known.any():
        return None
    high, low = np.maximum(a, b)[known], np.minimum(a, b)[known]
    # An int64 cannot hold the distance of the two infinities of f64.
    return int((high.astype(np.uint64) - low.astype(np.uint64)).max())


_FLOATS = tuple(map(np.dtype, (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)))


def _ordered(x: Array) -> Array:
    """Convert floats to integers so that adjacent floats become adjacent integers.

    The order stays the same; 0 and -0 both become 0.
    """
    bits = np.ascontiguousarray(x).view(_BITS[x.dtype.itemsize])
    width = 8 * x.dtype.itemsize
    magnitude = (bits & bits.dtype.type((1 << (width - 1)) - 1)).astype(np.int64)
    negative = (bits >> bits.dtype.type(width - 1)).astype(bool)
    counted: Array = np.where(negative, -magnitude, magnitude)
    return counted


def _wide(x: Array) -> Array:
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    # f64 cannot represent large 64-bit integers exactly.
    return x if x.dtype.kind in "iub" and x.dtype.itemsize == 8 else x.astype(np.float64)
