"""Bounds of slices and sizes of parts.

Plain integers, no NumPy: inference uses the same arithmetic as the kernels.
"""

from __future__ import annotations

__all__ = ["bounded", "chunks", "cropped"]


def bounded(start: int | None, end: int | None, step: int, dim: int) -> slice:
    """A slice of an axis with bounds clamped as both dialects clamp them.

    Backwards from before the first element is from the first element; Python takes none.
    """
    if step < 0 and start is not None and start < -dim:
        start = 0
    return slice(start, end, step)


def chunks(dim: int, count: int) -> tuple[int, ...]:
    """The sizes of `count` parts of an axis, equal but for the last ones."""
    chunk = -(-dim // count)
    return tuple(max(0, min(chunk, dim - chunk * part)) for part in range(count))


def cropped(size: int, wanted: int) -> tuple[int, int]:
    """What is added (or, negative, cut off) at both ends around the centre of an axis.

    An odd element is added or cut at the end.
    """
    missing = wanted - size
    begin = missing // 2 if missing > 0 else -(-missing // 2)
    return begin, missing - begin
