"""Regions of interest: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.openvino import roi

OPCONF_TYPES = "ROIPooling ROIAlign PSROIPooling ROIAlignRotated DeformablePSROIPooling"

BACKEND_OPS = "RoiAlign MaxRoiPool"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_a_region_turned_by_a_quarter() -> None:
    # On a ramp along x, a 4 x 2 region turned by a quarter reaches from 3 to 5 in x.
    ramp = np.broadcast_to(np.arange(9, dtype=np.float32), (1, 1, 9, 9))
    region = np.array([[4.5, 4.5, 4, 2, np.pi / 2]], np.float32)
    run = roi.ROIAlignRotated(
        pooled_h=2, pooled_w=1, sampling_ratio=2, spatial_scale=1.0, clockwise_mode=False
    ).kernel()
    found = run(ramp, region, np.array([0]))
    np.testing.assert_allclose(found.reshape(-1), [3.5, 4.5], atol=1e-6)


def test_bins_move_by_fractions_of_the_region() -> None:
    # The region (2, 2) to (3, 3) starts at 1.5 and is 2 wide; it moves right by 0.5 * 2 * 2.
    ramp = np.broadcast_to(np.arange(9, dtype=np.float32), (1, 1, 9, 9))
    region = np.array([[0, 2, 2, 3, 3]], np.float32)
    run = roi.DeformablePSROIPooling(output_dim=1, spatial_scale=1.0, trans_std=0.5).kernel()
    assert run(ramp, region).reshape(-1).tolist() == [1.5]
    offsets = np.array([2, 0], np.float32).reshape(1, 2, 1, 1)
    assert run(ramp, region, offsets).reshape(-1).tolist() == [3.5]
