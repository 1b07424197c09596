"""Bounds of slices and sizes of chunks.

This module uses plain integers and no NumPy, so that shape inference can share it with the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bounded", "chunks", "cropped", "on_all_axes"]


def bounded(start: int | None, end: int | None, step: int, dim: int) -> slice:
    """A Python slice of an axis, with its bounds clamped as in ONNX and OpenVINO.

    With a negative step, a start before the first element is clamped to the first element; a Python
    slice would be empty.
    """
    if step < 0 and start is not None and start < -dim:
        start = 0
    return slice(start, end, step)


def chunks(dim: int, count: int) -> tuple[int, ...]:
    """Return the sizes of `count` chunks of an axis; the last chunks may be smaller or empty."""
    chunk = -(-dim // count)
    return tuple(max(0, min(chunk, dim - chunk * part)) for part in range(count))


def cropped(size: int, wanted: int) -> tuple[int, int]:
    """Return the padding at both ends that changes an axis from `size` to `wanted`, centred.

    Negative numbers crop. If the difference is odd, the end changes by one element more than the
    beginning: 5 to 8 is (1, 2), and 8 to 5 is (-1, -2).
    """
    missing = wanted - size
    begin = missing // 2 if missing > 0 else -(-missing // 2)
    return begin, missing - begin


def on_all_axes(pads: Sequence[int], axes: Sequence[int], rank: int) -> list[int]:
    """Return a pad for each of `rank` axes: `pads[i]` for axis `axes[i]`, and 0 for others."""
    result = [0] * rank
    for axis, pad in zip(axes, pads, strict=True):
        result[axis] = pad
    return result
