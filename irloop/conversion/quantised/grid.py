"""The grid of a quantisation: evenly spaced numbers, one of which is 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from irloop.graph.record import Record

if TYPE_CHECKING:
    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Grid", "grid_of"]

#: The largest distance of 0 from a step of the grid, in steps. Limits that are rounded to f32 make
#: 0.0001 at most.
APART = 1e-3


class Grid(Record):
    """The numbers (code - `zero`) * `scale` for the codes from 0 to `levels` - 1.

    `scale` and `zero` are arrays that broadcast to the data, f32 and whole numbers.
    """

    levels: int
    scale: Any
    zero: Any


def grid_of(low: Array | None, high: Array | None, levels: int) -> Grid | None:
    """Return the grid of `levels` numbers from `low` to `high`, or None.

    None if a limit is not constant, if a range is empty, or if 0 is not one of the numbers.
    """
    if low is None or high is None:
        return None
    low, high = np.broadcast_arrays(low.astype(np.float64), high.astype(np.float64))
    if not low.size or not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        return None
    scale = (high - low) / (levels - 1)
    zero = np.rint(-low / scale)
    if (np.abs(-low / scale - zero) > APART).any() or (zero < 0).any() or (zero >= levels).any():
        return None
    narrow = scale.astype(np.float32)
    return Grid(levels, narrow, zero) if (narrow >= np.finfo(np.float32).tiny).all() else None
