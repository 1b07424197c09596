"""Colour conversions and region layers: kernels and inference against OpenVINO's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.openvino import color, region

OPCONF_TYPES = "NV12toRGB NV12toBGR I420toRGB I420toBGR RegionYolo"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_grey_and_red_by_hand() -> None:
    """Y 16 is black, 235 white (1.164 * 219 = 254.9); V above 128 adds red and removes green."""
    luma = np.array([[16, 235], [16, 16]], np.uint8).reshape(1, 2, 2, 1)
    pairs = np.array([128, 128], np.uint8).reshape(1, 1, 1, 2)
    found = color.NV12toRGB().kernel()(luma, pairs)
    assert found.reshape(4, 3).tolist() == [[0] * 3, [255] * 3, [0] * 3, [0] * 3]
    red = color.I420toBGR().kernel()(
        np.array([116, 116, 116, 116, 128, 228], np.uint8).reshape(1, 3, 2, 1)
    )
    # 1.164 * 100 = 116.4: blue is 116.4, green 116.4 - 81.3, and red 116.4 + 159.6, which exceeds
    # 255.
    assert red[0, 0, 0].tolist() == [116, 35, 255]


def test_region_by_hand() -> None:
    """Zeros become 0.5, and equal class scores share 1; width and height do not change."""
    op = region.RegionYolo(coords=4, classes=2, num=1, axis=1, end_axis=3)
    found = op.kernel()(np.zeros((1, 7, 1, 1), np.float32))
    assert found.tolist() == [[0.5, 0.5, 0, 0, 0.5, 0.5, 0.5]]
    sigmoids = region.RegionYolo(coords=4, classes=2, num=3, do_softmax=False, mask=(1,))
    data = np.full((1, 7, 1, 1), 100, np.float32)
    assert sigmoids.kernel()(data).reshape(-1).tolist() == [1, 1, 100, 100, 1, 1, 1]
