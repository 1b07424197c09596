"""Describes constants by their range, their NaNs and a histogram.

For a large constant, only a part of the elements is read.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from irloop.diagnostics import LONGEST
from irloop.errors import IrloopError
from irloop.graph.tensor import Tensor
from irloop.kernels.precision import silence

__all__ = ["Kept", "Weights", "number", "small_values", "summary"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Maximum number of elements that are read from one constant, and from all constants of a page.
ONE, ALL = 1 << 20, 1 << 25

#: The number of bars of a histogram, and the maximum number of elements of a tensor that is shown
#: whole.
BARS, WHOLE = 24, 64

#: The number of elements that are shown of a larger tensor, from its start.
FIRST = 16


#: Maximum number of bytes that a page keeps of one array, and of all.
ONE_KEPT, ALL_KEPT = 16 << 10, 160 << 10

#: The same of all arrays if the user wants the weights as a whole: a browser can hold no more.
WHOLE_KEPT = 128 << 20


class Kept:
    """Keeps whole arrays that can be saved from the page, up to a size of each and of all."""

    def __init__(self, one: int = ONE_KEPT, every: int = ALL_KEPT) -> None:
        self._one, self._left = one, every

    def of(self, array: Array) -> dict[str, Any]:
        """The array as an entry for the page; empty for one that NumPy's files cannot hold.

        The entry is empty, too, if the array is large or if there is no room left.
        """
        if array.nbytes > min(self._one, self._left) or array.dtype.kind not in "biufc":
            return {}
        self._left -= array.nbytes
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        content = base64.b64encode(little.tobytes()).decode("ascii")
        # A page cuts longer texts.
        parts = [content[at : at + LONGEST] for at in range(0, len(content), LONGEST)]
        return {"array": {"type": little.dtype.str, "shape": list(array.shape), "bytes": parts}}


class Weights:
    """Computes statistics of the constants that a page shows.

    All constants together have a budget of `ALL` elements to read. When it is spent, further
    constants are described by their sizes only. If `whole`, up to `WHOLE_KEPT` bytes are kept.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._left = ALL
        self._kept = Kept(WHOLE_KEPT, WHOLE_KEPT) if whole else Kept()

    def of(self, tensor: Tensor) -> dict[str, Any]:
        """The statistics of a constant; only every k-th element of a large one is read."""
        statistics: dict[str, Any] = {"count": tensor.count, "bytes": tensor.nbytes}
        if tensor.count == 0:
            return statistics
        if self._left <= 0 or (tensor.element.bits < 8 and tensor.count > self._left):
            return {**statistics, "problem": "the limit of weights that a page reads is reached"}
        try:
            stored = tensor.numpy()
            array = stored.reshape(-1)
            step = -(-array.size // min(ONE, self._left))
            # The elements in between are not read from disk.
            sample = np.array(array[::step])
        except (IrloopError, OSError, ValueError) as error:
            return {**statistics, "problem": f"cannot be read: {error}"}
        self._left -= sample.size
        statistics["sampled"] = int(sample.size)
        statistics |= summary(sample)
        shown = sample if tensor.count <= WHOLE else np.array(array[:FIRST])
        statistics["values"] = small_values(shown)
        statistics |= self._kept.of(stored)
        finite = _finite(sample)
        if finite is not None and finite.size > 1:
            statistics["bars"] = _bars(finite)
        return statistics


def summary(array: Array) -> dict[str, Any]:
    """The minimum, maximum and mean of the elements, and the numbers of NaNs and infinities."""
    if array.size == 0 or array.dtype.kind in "OSU":
        return {}
    if array.dtype.kind == "c":
        return {"nan": int(np.isnan(array).sum())}
    with silence():
        wide = array if array.dtype.kind in "biu" else array.astype(np.float64)
        numbers: dict[str, Any] = {}
        if wide.dtype.kind == "f":
            known = wide[np.isfinite(wide)]
            numbers["nan"] = int(np.isnan(wide).sum())
            numbers["infinite"] = int(wide.size - known.size) - numbers["nan"]
            wide = known
        if wide.size:
            numbers["min"], numbers["max"] = number(wide.min()), number(wide.max())
            numbers["mean"] = number(wide.mean(dtype=np.float64))
    return numbers


def number(value: Any) -> float | int | str | bool:
    """Convert a value to a form that JSON can represent.

    Floats are rounded to seven digits. NaN, infinity and integers that JavaScript would round
    become strings.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool | str):
        return plain
    if isinstance(plain, int):
        # JavaScript would round larger integers.
        return plain if abs(plain) < 2**53 else str(plain)
    if isinstance(plain, float):
        return float(f"{plain:.7g}") if np.isfinite(plain) else str(plain)
    return str(plain)


def small_values(array: Array) -> list[Any]:
    """Return the elements of an array as a flat list that JSON can represent.

    `number` converts each element. Callers pass only small arrays, because the list is not
    shortened.
    """
    known = array.dtype.kind in "biufOSU"
    wide = array if known else array.astype(np.complex128 if array.dtype.kind == "c" else float)
    return [number(item) for item in wide.reshape(-1)]


def _finite(array: Array) -> Array | None:
    if array.dtype.kind in "OSUcb":
        return None
    wide: Array = array.astype(np.float64)
    return wide[np.isfinite(wide)]


def _bars(array: Array) -> list[int]:
    low, high = float(array.min()), float(array.max())
    if not low < high or not np.isfinite(high - low):
        return []
    # Do not divide by the width of a bar, because it may be too small for a float.
    places = np.minimum(((array - low) / (high - low) * BARS).astype(int), BARS - 1)
    return [int(count) for count in np.bincount(places, minlength=BARS)]
