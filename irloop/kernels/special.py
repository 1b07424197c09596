"""The error function and its inverse, vectorised."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from irloop.kernels.blocks import in_blocks, of_blocks
from irloop.kernels.work import spend_each

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


#: Number of values of 16 bits. Larger arrays look up their results.
_VALUES = 1 << 16

#: Nanoseconds per element that the error function and its inverse take in double precision.
_NANOSECONDS = 250

#: Number of entries of the tables for f32 between two whole numbers.
_STEPS = 2048
#: The tables end at this number, because erf is 1 in f32 from 3.92 on.
_LAST = 4
#: Numbers closer to zero than this can be multiplied by `_STEPS` and rounded by `_ROUNDING`.
_FAR = 1 << 10
#: Adding this to a number in f32 rounds the number to a whole one. `_FIRST` is the sum for the
#: first entry of the tables, as an integer with the same bits.
_ROUNDING = np.float32(1.5 * 2**23)
_FIRST = (_ROUNDING - np.float32(_LAST * _STEPS)).view(np.int32)
#: The factors of the series of `_erf32`, for distances in steps.
_SQUARE, _PRODUCT = (np.float32(item / _STEPS**2) for item in (1 / 3, 1))
_SQUARED_PRODUCT = np.float32(2 / 3 / _STEPS**4)


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


def _erf_wide(x: Array, out: Array) -> None:
    out[...] = _erf64(x.astype(np.float64)).astype(x.dtype)


@cache
def _erf_of_all(dtype: np.dtype[Any]) -> Array:
    """Return a table of erf for all 65536 values of a 16-bit element type.

    The index into the table is the bit pattern of a value, read as u16.
    """
    values = np.arange(_VALUES, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        return _erf64(values.astype(np.float64)).astype(dtype)


def _erf32(x: Array, out: Array) -> None:
    """The error function in f32, rounded correctly.

    The nearest entry of the tables is at the position q, and d is the distance of x from q. Then
    the series is erf(q) + erf'(q) * d * (1 - q * d - d * d / 3 + 2 / 3 * (q * d)**2). The factor in
    parentheses differs from 1 by less than 0.001, so its terms other than 1 are computed in f32;
    everything else is computed in f64.
    """
    heights, slopes = _tables()
    with np.errstate(invalid="ignore", under="ignore"):
        place = np.empty_like(x)
        # Finite numbers beyond the tables find the last entries, whose slope is close to 0.
        least = np.minimum.reduce(x, axis=None, initial=0)
        if not -_FAR < least <= np.maximum.reduce(x, axis=None, initial=0) < _FAR:
            x = np.minimum(x, np.float32(_LAST), out=place)
            np.maximum(x, np.float32(-_LAST), out=place)
        distance = np.multiply(x, np.float32(_STEPS), out=out)
        # The sum has no bits for fractions, so its lowest bits are the rounded number.
        np.add(distance, _ROUNDING, out=place)
        nearest = np.subtract(place.view(np.int32), _FIRST).astype(np.intp)
        # Exact, because all numbers are multiples of a power of two. The number is never -0,
        # therefore the distance keeps the sign of a zero. The distance of NaN is NaN.
        np.subtract(distance, np.subtract(place, _ROUNDING, out=place), out=distance)
        product = np.multiply(place, distance, out=place)
        series = np.multiply(product, _SQUARED_PRODUCT)
        np.multiply(np.subtract(series, _PRODUCT, out=series), product, out=series)
        square = np.multiply(np.multiply(distance, distance, out=place), _SQUARE, out=place)
        np.subtract(series, square, out=series)
        made = series.astype(np.float64)
        np.add(made, 1.0, out=made)
        factor = slopes.take(nearest, mode="clip")
        np.multiply(made, factor, out=made)
        np.copyto(factor, distance)
        np.multiply(made, factor, out=made)
        np.add(made, heights.take(nearest, mode="clip", out=factor), out=made)
        np.copyto(out, made, casting="same_kind")


def _erf_step(x: Array, out: Array) -> None:
    if x.dtype == np.float32:
        _erf32(x, out)
        return
    spend_each(x.size, _NANOSECONDS, "the error function")
    _erf_wide(x, out)


@of_blocks(_erf_step)
def erf(x: Array) -> Any:
    """The error function of a float array of any shape, in its element type."""
    if x.dtype == np.float32:
        return in_blocks(_erf32, x)
    if x.dtype.itemsize == 2 and x.size > _VALUES:
        return _erf_of_all(x.dtype).take(x.view(np.uint16))
    spend_each(x.size, _NANOSECONDS, "the error function")
    return in_blocks(_erf_wide, x)


@cache
def _tables() -> tuple[Array, Array]:
    """Return tables of erf and of its slope, from -_LAST to _LAST at distances of 1 / `_STEPS`.

    The slopes are multiplied by 1 / `_STEPS`. The entry for erf(0) is -0.0, so that adding a zero
    to it keeps the sign of this zero.
    """
    x = np.arange(-_LAST * _STEPS, _LAST * _STEPS + 1) / _STEPS
    below = np.array([math.erf(place) for place in x[: _LAST * _STEPS]])
    heights = np.concatenate([below, [-0.0], -below[::-1]])
    return heights, 2 / math.sqrt(math.pi) / _STEPS * np.exp(-x * x)


def erf_inverse(x: Array) -> Array:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    spend_each(x.size, _NANOSECONDS, "the inverse of the error function")
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
