"""Grids and sampling: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx.sampling import AffineGrid

OPCONF_TYPES = "GridSample"

BACKEND_OPS = "GridSample AffineGrid"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


@pytest.mark.parametrize(
    ("align", "places"), [(0, [-0.75, -0.25, 0.25, 0.75]), (1, [-1, -1 / 3, 1 / 3, 1])]
)
def test_the_identity_matrix_does_not_move_positions(align: int, places: list[float]) -> None:
    """With the identity matrix, positions are the centres of 4 columns and 1 row."""
    theta = np.array([[[1, 0, 0], [0, 1, 0.5]]], np.float32)
    found = AffineGrid(align_corners=align).kernel()(theta, np.array([1, 3, 1, 4]))
    assert found.shape == (1, 1, 4, 2)
    np.testing.assert_allclose(found[0, 0, :, 0], places, atol=1e-6)
    np.testing.assert_allclose(found[0, 0, :, 1], [0.5 - align] * 4, atol=1e-6)
