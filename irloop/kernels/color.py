"""Conversion of YUV 4:2:0 images (luminance and chrominance) to RGB or BGR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FACTORS", "OFFSETS", "Array", "Function", "i420", "nv12"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: Factors of Y - 16, U - 128 and V - 128 in red, green and blue (ITU-R BT.601, limited range).
FACTORS = ((1.164, 0.0, 1.596), (1.164, -0.391, -0.813), (1.164, 2.018, 0.0))
OFFSETS = (16.0, 128.0, 128.0)


def _coloured(luma: Array, blue: Array, red: Array, *, reverse: bool) -> Any:
    """Convert planes Y [N, H, W, 1], U and V [N, H/2, W/2, 1] to RGB [N, H, W, 3].

    With `reverse` the result is BGR.
    """
    y, u, v = (
        plane.astype(np.float32) - np.float32(offset)
        for plane, offset in zip((luma, blue, red), OFFSETS, strict=True)
    )
    u, v = (plane.repeat(2, axis=1).repeat(2, axis=2) for plane in (u, v))
    rows = FACTORS[::-1] if reverse else FACTORS
    channels = [y * np.float32(a) + u * np.float32(b) + v * np.float32(c) for a, b, c in rows]
    result = np.concatenate(channels, axis=-1)
    if luma.dtype.kind in "iu":
        # Halves are rounded away from zero; negative values need no care, because they are clamped
        # to 0.
        result = np.floor(result + np.float32(0.5))
    return np.clip(result, 0, 255).astype(luma.dtype)


def nv12(*, reverse: bool) -> Function:
    """Make a kernel that converts NV12 to RGB, or with `reverse` to BGR.

    The image is one plane [N, 3H/2, W, 1], with Y above interleaved UV. Alternatively, Y
    [N, H, W, 1] and UV [N, H/2, W/2, 2] are two inputs.
    """

    def apply(luma: Array, pairs: Array | None = None) -> Any:
        if pairs is None:
            items, rows, width, _ = luma.shape
            height = rows * 2 // 3
            pairs = luma[:, height:].reshape(items, height // 2, width // 2, 2)
            luma = luma[:, :height]
        return _coloured(luma, pairs[..., :1], pairs[..., 1:], reverse=reverse)

    return apply


def i420(*, reverse: bool) -> Function:
    """Make a kernel that converts I420 to RGB, or with `reverse` to BGR.

    The image is one plane [N, 3H/2, W, 1], with Y above U above V. Alternatively, Y, U and V are
    three inputs.
    """

    def apply(luma: Array, blue: Array | None = None, red: Array | None = None) -> Any:
        if blue is None or red is None:
            items, rows, width, _ = luma.shape
            height = rows * 2 // 3
            both = luma[:, height:].reshape(items, 2, height // 2, width // 2, 1)
            luma, blue, red = luma[:, :height], both[:, 0], both[:, 1]
        return _coloured(luma, blue, red, reverse=reverse)

    return apply
