"""Non-maximum suppression: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.onnx import nms as onnx
from irloop.dialects.openvino import nms as ov

OPCONF_TYPES = "NonMaxSuppression NMSRotated"

BACKEND_OPS = "NonMaxSuppression"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_an_overlap_equal_to_the_threshold() -> None:
    # The unit square covers half of a box twice as long: the intersection is 1, the union 2.
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 2]]], np.float32)
    scores = np.array([[[0.9, 0.8]]], np.float32)
    limit, half = np.array(5), np.array(0.5, np.float32)
    assert len(onnx.NonMaxSuppression().kernel()(boxes, scores, limit, half)) == 2
    assert len(ov.NonMaxSuppression4().kernel()(boxes, scores, limit, half)) == 1


def test_turned_boxes_share_an_octagon() -> None:
    # A square with side 2 and the same square turned by 45 degrees share 8 (sqrt(2) - 1).
    from irloop.kernels.rotated import overlaps

    boxes = np.array([[0, 0, 2, 2, 0], [0, 0, 2, 2, np.pi / 4], [1, 0, 2, 2, 0], [9, 9, 1, 1, 2]])
    shared = 8 * (np.sqrt(2) - 1)
    expected = [1, shared / (8 - shared), 1 / 3, 0]
    np.testing.assert_allclose(overlaps(boxes, 0, clockwise=True), expected, atol=1e-9)


def test_the_direction_of_an_angle() -> None:
    # A bar along the falling diagonal (y points down) contains a square to the lower right, not one
    # to the upper right.
    boxes = np.array([[[0, 0, 6, 1, np.pi / 4], [1.5, 1.5, 1, 1, np.pi / 4]]], np.float32)
    scores = np.array([[[0.9, 0.8]]], np.float32)
    limit, share, least = np.array(5), np.array(0.1, np.float32), np.array(0, np.float32)
    for clockwise, kept in ((True, 1), (False, 2)):
        run = ov.NMSRotated(clockwise=clockwise).kernel(3)
        assert len(run(boxes, scores, limit, share, least)[0]) == kept
