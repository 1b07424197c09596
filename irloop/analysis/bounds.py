"""Computes with bounds: the least and the greatest number that the elements of a value may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

from irloop.graph.types import Dim, ElementType

__all__ = [
    "ANYTHING",
    "COUNTS",
    "EXACT",
    "Bounds",
    "counting",
    "divided",
    "joined",
    "of_corners",
    "of_dim",
    "of_type",
    "only",
    "remainder",
]

#: f32 holds every integer below this number.
EXACT = 2**24


class Bounds(NamedTuple):
    """The least and the greatest number that the elements of a value may be.

    `counts` tells that they are computed from a size, position or iteration number that is not
    known, and besides only from small numbers. Models do not count to `EXACT`, so such integers
    are taken to be smaller, whatever the bounds.
    """

    low: float
    high: float
    counts: bool = False

    @property
    def is_small(self) -> bool:
        """Return whether f32 holds the elements exactly."""
        return self.counts or self.magnitude < EXACT

    @property
    def is_finite(self) -> bool:
        """Return whether both bounds are known numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def within(self, widest: Bounds) -> Bounds:
        """The bounds as those of a type: a number that does not fit may become any other one.

        Counts do not grow so large. In a narrow type, they are no longer unknown.
        """
        is_inside = widest.low <= self.low and self.high <= widest.high
        if not is_inside and (not self.counts or widest.is_small):
            return widest
        low, high = max(self.low, widest.low), min(self.high, widest.high)
        return Bounds(low, high, self.counts and not widest.is_small)


#: Nothing is known.
ANYTHING = Bounds(-math.inf, math.inf)
#: Sizes, positions and iteration numbers.
COUNTS = Bounds(0, EXACT - 1, True)


def _of_type(element: ElementType) -> Bounds:
    if element is ElementType.BOOLEAN:
        return Bounds(0, 1)
    if not element.is_integer:
        return ANYTHING
    if str(element).startswith("u"):
        return Bounds(0, 2**element.bits - 1)
    return Bounds(-(2 ** (element.bits - 1)), 2 ** (element.bits - 1) - 1)


_TYPES = {element: _of_type(element) for element in ElementType}


def of_type(element: ElementType) -> Bounds:
    """The bounds of a type; integers and booleans have them."""
    return _TYPES[element]


def only(number: float) -> Bounds:
    """The bounds of a known number."""
    return Bounds(number, number)


def of_dim(dim: Dim) -> Bounds:
    """The bounds of a size."""
    if isinstance(dim, int):
        return only(dim)
    return Bounds(dim.low, COUNTS.high if dim.high is None else dim.high, dim.high is None)


def counting(operands: Iterable[Bounds]) -> bool:
    """Return whether what is computed from the operands counts."""
    listed = list(operands)
    if not any(each.counts for each in listed):
        return False
    return all(each.is_small for each in listed)


def joined(operands: Iterable[Bounds]) -> Bounds:
    """The bounds of elements of all operands; 0 if there are none."""
    listed = list(operands) or [only(0)]
    low, high = min(each.low for each in listed), max(each.high for each in listed)
    return Bounds(low, high, counting(listed))


def of_corners(function: Callable[[float, float], float], left: Bounds, right: Bounds) -> Bounds:
    """The bounds of a sum, difference or product of integers, which `function` computes."""
    corners = [function(*pair) for pair in product(left[:2], right[:2])]
    return Bounds(min(corners), max(corners), counting((left, right)))


def divided(left: Bounds, right: Bounds) -> Bounds:
    """The bounds of a quotient of integers, however it is rounded."""
    if right.low < 1:
        return ANYTHING
    low = left.low // (right.low if left.low < 0 else right.high)
    high = -(-left.high // (right.high if left.high < 0 else right.low))
    return Bounds(low, high, counting((left, right)))


def remainder(left: Bounds, right: Bounds, *, truncated: bool) -> Bounds:
    """The bounds of a remainder of integers, which has the sign of the divisor.

    If it is `truncated`, it has the sign of the dividend.
    """
    if right.low <= 0 <= right.high:
        return ANYTHING
    most, signed = right.magnitude - 1, left if truncated else right
    shrinks = truncated or (left.low >= 0 and right.low > 0)
    if shrinks:
        most = min(most, left.magnitude)
    counts = right.counts or (shrinks and left.counts)
    return Bounds(-most if signed.low < 0 else 0, most if signed.high > 0 else 0, counts)
