"""Encoded images: ONNX's own values if Pillow is installed, otherwise an error that names
Pillow.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
import pytest

from irloop.dialects.onnx.images import ImageDecoder
from irloop.errors import InferenceError, UnsupportedError
from irloop.execution.compile import compile_graph
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.kernels import images

BACKEND_OPS = "ImageDecoder"

with_pillow = pytest.mark.skipif(
    importlib.util.find_spec("PIL") is None, reason="Pillow is not installed"
)


@with_pillow
def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


@with_pillow
@pytest.mark.parametrize(
    ("pixel_format", "pixel"), [("RGB", [255, 0, 0]), ("BGR", [0, 0, 255]), ("Grayscale", [76])]
)
def test_a_red_pixel_is_decoded_in_every_pixel_format(pixel_format: str, pixel: list[int]) -> None:
    # A PPM with one pixel; gray is 0.299 of the red value.
    stream = np.frombuffer(b"P6 1 1 255 \xff\x00\x00", np.uint8)
    assert ImageDecoder(pixel_format).kernel()(stream).tolist() == [[pixel]]


@with_pillow
def test_data_that_is_not_an_image_has_no_pixels() -> None:
    assert ImageDecoder().kernel()(np.zeros(9, np.uint8)).shape == (0, 0, 3)


def test_the_error_names_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "available", lambda: False)
    builder = Builder(Graph("g"))
    stream = builder.parameter("x", TensorType(ElementType.U8, Shape.of(None)))
    builder.result(builder(ImageDecoder(), stream), "y")
    with pytest.raises(UnsupportedError, match=r"needs Pillow: pip install pillow"):
        compile_graph(builder.graph)


def test_inference() -> None:
    builder = Builder(Graph("g"))
    stream = builder.parameter("x", TensorType(ElementType.U8, Shape.of(None)))
    assert str(builder(ImageDecoder("Grayscale"), stream).type) == "u8[?,?,1]"
    with pytest.raises(InferenceError):
        builder(ImageDecoder("CMYK"), stream)
