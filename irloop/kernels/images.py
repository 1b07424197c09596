"""Decoding of encoded images by Pillow, an optional dependency."""

from __future__ import annotations

import importlib
import importlib.util
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.errors import LimitError

__all__ = ["available", "decoder"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def available() -> bool:
    """Return whether Pillow is installed."""
    return importlib.util.find_spec("PIL") is not None


def decoder(pixel_format: str) -> Function:
    """Make a kernel that decodes a stream of bytes to pixels [height, width, channels], all in u8.

    `pixel_format` is RGB, BGR or Grayscale. A stream that cannot be decoded, for whatever reason,
    gives an image without pixels.
    """
    gray = pixel_format == "Grayscale"

    def apply(stream: Array) -> Array:
        images = importlib.import_module("PIL.Image")
        try:
            with images.open(io.BytesIO(stream.tobytes())) as image:
                budget.reserve(12 * image.width * image.height, "decoding an image")
                pixels = np.array(image.convert("L" if gray else "RGB"), dtype=np.uint8)
        except LimitError:
            raise
        except Exception:  # damaged streams raise errors of any kind
            return np.zeros((0, 0, 1 if gray else 3), dtype=np.uint8)
        if gray:
            return pixels[..., None]
        return pixels[..., ::-1].copy() if pixel_format == "BGR" else pixels

    return apply
