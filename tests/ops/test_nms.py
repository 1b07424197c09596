"""Non-maximum suppression: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.onnx import nms as onnx
from irloop.dialects.openvino import nms as ov

OPCONF_TYPES = "NonMaxSuppression"

BACKEND_OPS = "NonMaxSuppression"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_an_overlap_of_the_threshold_exactly() -> None:
    # Unit squares of which one covers half of a box twice as long: intersection 1 of union 2.
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 2]]], np.float32)
    scores = np.array([[[0.9, 0.8]]], np.float32)
    limit, half = np.array(5), np.array(0.5, np.float32)
    assert len(onnx.NonMaxSuppression().kernel()(boxes, scores, limit, half)) == 2
    assert len(ov.NonMaxSuppression4().kernel()(boxes, scores, limit, half)) == 1
