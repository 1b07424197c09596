"""Interpolate, Resize, Upsample: kernels and inference against the engines' own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.onnx import resize as onnx
from irloop.dialects.openvino import resize as ov

OPCONF_TYPES = "Interpolate"

BACKEND_OPS = "Resize Upsample"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_linear_half_pixel_by_hand() -> None:
    """The four samples of two elements are at -0.25, 0.25, 0.75 and 1.25."""
    run = onnx.Resize(mode="linear").kernel()
    found = run(np.array([[0.0, 4.0]], np.float32), None, np.array([1, 2], np.float32))
    assert found.tolist() == [[0, 1, 3, 4]]


def test_nearest_simple_by_hand() -> None:
    """Enlarging rounds down and shrinking rounds up, as in OpenVINO with asymmetric coordinates."""
    run = ov.Interpolate(
        mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="simple"
    ).kernel()
    data = np.arange(5, dtype=np.float32)
    axes, scales = np.array([0]), np.array([1.0], np.float32)
    assert run(data, np.array([3]), scales, axes).tolist() == [0, 2, 4]
    assert run(data, np.array([10]), scales, axes).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_upsample_by_hand() -> None:
    """Whole scales repeat elements."""
    run = onnx.Upsample(scales=(1.0, 3.0)).kernel()
    assert run(np.array([[1, 2]], np.uint8)).tolist() == [[1, 1, 1, 2, 2, 2]]


def test_integers_by_hand() -> None:
    """At -0.25, 0.25, 0.75 and 1.25 between 0 and 10, OpenVINO rounds 7.5 to 8, and ONNX truncates
    it.
    """
    data, sizes = np.array([0, 10], np.uint8), np.array([4])
    scales, axes = np.array([2.0], np.float32), np.array([0])
    rounded = ov.Interpolate(mode="linear_onnx").kernel()(data, sizes, scales, axes)
    assert rounded.tolist() == [0, 2, 8, 10]
    assert onnx.Resize(mode="linear").kernel()(data, None, scales).tolist() == [0, 2, 7, 10]


def test_equal_sizes_stay_in_openvino() -> None:
    """3 elements scaled by 1.3 are still 3 elements, which OpenVINO leaves unchanged."""
    data = np.array([1, 5, 2], np.float32)
    scales, axes = np.array([1.3], np.float32), np.array([0])
    op = ov.Interpolate(mode="linear_onnx", shape_calculation_mode="scales")
    assert op.kernel()(data, np.array([0]), scales, axes).tolist() == [1, 5, 2]
