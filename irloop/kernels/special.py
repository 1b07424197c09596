"""The error function and its inverse, vectorised."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from irloop.kernels.blocks import in_blocks

__all__ = ["erf", "erf_inverse"]

Array = np.ndarray[Any, np.dtype[Any]]

# Rational approximations of W. J. Cody as given in FreeBSD's s_erf.c (Sun Microsystems 1993),
# one for each range of |x|; coefficients of the lowest power first.
_ERX = 8.45062911510467529297e-01
_SMALL_P = (
    1.28379167095512558561e-01,
    -3.25042107247001499370e-01,
    -2.84817495755985104766e-02,
    -5.77027029648944159157e-03,
    -2.37630166566501626084e-05,
)
_SMALL_Q = (
    1.0,
    3.97917223959155352819e-01,
    6.50222499887672944485e-02,
    5.08130628187576562776e-03,
    1.32494738004321644526e-04,
    -3.96022827877536812320e-06,
)
_MIDDLE_P = (
    -2.36211856075265944077e-03,
    4.14856118683748331666e-01,
    -3.72207876035701323847e-01,
    3.18346619901161753674e-01,
    -1.10894694282396677476e-01,
    3.54783043256182359371e-02,
    -2.16637559486879084300e-03,
)
_MIDDLE_Q = (
    1.0,
    1.06420880400844228286e-01,
    5.40397917702171048937e-01,
    7.18286544141962662868e-02,
    1.26171219808761642112e-01,
    1.36370839120290507362e-02,
    1.19844998467991074170e-02,
)
_LARGE_P = (
    -9.86494403484714822705e-03,
    -6.93858572707181764372e-01,
    -1.05586262253232909814e01,
    -6.23753324503260060396e01,
    -1.62396669462573470355e02,
    -1.84605092906711035994e02,
    -8.12874355063065934246e01,
    -9.81432934416914548592e00,
)
_LARGE_Q = (
    1.0,
    1.96512716674392571292e01,
    1.37657754143519042600e02,
    4.34565877475229228821e02,
    6.45387271733267880336e02,
    4.29008140027567833386e02,
    1.08635005541779435134e02,
    6.57024977031928170135e00,
    -6.04244152148580987438e-02,
)
_HUGE_P = (
    -9.86494292470009928597e-03,
    -7.99283237680523006574e-01,
    -1.77579549177547519889e01,
    -1.60636384855821916062e02,
    -6.37566443368389627722e02,
    -1.02509513161107724954e03,
    -4.83519191608651397019e02,
)
_HUGE_Q = (
    1.0,
    3.03380607434824582924e01,
    3.25792512996573918826e02,
    1.53672958608443695994e03,
    3.19985821950859553908e03,
    2.55305040643316442583e03,
    4.74528541206955367215e02,
    -2.24409524465858183362e01,
)


#: Number of entries of the table for f32 between two whole numbers.
_STEPS = 64
#: The last entry of the table; erf is 1 in f32 from 3.92 on.
_LAST = 4
#: Number of terms of the Taylor series at each entry.
_TERMS = 8


def _ratio(x: Array, upper: tuple[float, ...], lower: tuple[float, ...]) -> Array:
    top = np.polyval(upper[::-1], x)
    bottom = np.polyval(lower[::-1], x)
    result: Array = top / bottom
    return result


def _erf64(x: Array) -> Array:
    size = np.abs(x)
    # Above 6 the function is 1 to the last bit; clipping keeps the unused branches finite.
    bounded = np.clip(np.nan_to_num(size, nan=0.0), 0.0, 6.0)
    small = bounded + bounded * _ratio(bounded * bounded, _SMALL_P, _SMALL_Q)
    middle = _ERX + _ratio(bounded - 1.0, _MIDDLE_P, _MIDDLE_Q)
    far = np.maximum(bounded, 1.25)
    inverse = 1.0 / (far * far)
    large = np.where(
        far < 1 / 0.35, _ratio(inverse, _LARGE_P, _LARGE_Q), _ratio(inverse, _HUGE_P, _HUGE_Q)
    )
    tail = 1.0 - np.exp(-far * far - 0.5625 + large) / far
    result = np.where(size < 0.84375, small, np.where(size < 1.25, middle, tail))
    result = np.where(size >= 6.0, 1.0, result)
    signed: Array = np.where(np.isnan(x), x, np.copysign(result, x))
    return signed


def erf(x: Array) -> Any:
    """The error function of a float array of any shape, in its element type."""
    if x.dtype == np.float32:
        return in_blocks(_erf32, x)
    return _erf64(x.astype(np.float64)).astype(x.dtype)


def _erf32(x: Array, out: Array) -> None:
    """The error function in f32, rounded correctly: a Taylor series in f64 at the nearest entry."""
    with np.errstate(invalid="ignore", under="ignore"):
        size = np.abs(x).astype(np.float64)
        np.minimum(size, _LAST, out=size)
        place = np.rint(size * _STEPS)
        size -= place / _STEPS  # exact: entries are multiples of 1 / 64
        at = place.astype(np.intp)  # any entry will do for NaN: its distance is NaN
        *lower, highest = _series()
        made = highest.take(at, mode="clip")
        term = np.empty_like(made)
        for row in reversed(lower):
            np.multiply(made, size, out=made)
            np.add(made, row.take(at, out=term, mode="clip"), out=made)
        np.copysign(made, x, out=out, casting="same_kind")


@cache
def _series() -> tuple[Array, ...]:
    """The coefficients of the Taylor series of erf at each entry, one row for each power.

    The derivative of order n + 1 is (-1)^n H_n(x) times the first one, 2 / sqrt(pi) exp(-x^2), with
    the Hermite polynomials H_n.
    """
    x = np.arange(_LAST * _STEPS + 1) / _STEPS
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    before, hermite = np.zeros_like(x), np.ones_like(x)
    rows = [np.array([math.erf(place) for place in x])]
    for order in range(1, _TERMS):
        rows.append((-1) ** (order - 1) * hermite * slope / math.factorial(order))
        before, hermite = hermite, 2 * x * hermite - 2 * (order - 1) * before
    return tuple(rows)


def erf_inverse(x: Array) -> Array:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    wide = x.astype(np.float64)
    inside = np.clip(np.nan_to_num(wide, nan=0.0), -1.0, 1.0)
    open_interval = np.clip(inside, -1.0 + 2**-53, 1.0 - 2**-53)
    # Winitzki's closed form is accurate to 2e-3; each step of Halley's method triples the digits.
    half = np.log1p(-open_interval * open_interval) / 2.0
    first = 2.0 / (np.pi * 0.147) + half
    guess = np.copysign(np.sqrt(np.sqrt(first * first - 2.0 * half / 0.147) - first), open_interval)
    for _ in range(3):
        slope = 2.0 / np.sqrt(np.pi) * np.exp(-guess * guess)
        error = (_erf64(guess) - open_interval) / slope
        guess = guess - error / (1.0 + guess * error)
    result = np.where(np.abs(wide) == 1.0, np.copysign(np.inf, wide), guess)
    result = np.where(np.isnan(wide) | (np.abs(wide) > 1.0), np.nan, result)
    return result.astype(x.dtype)
