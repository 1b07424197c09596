"""DetectionOutput: OpenVINO's own values, and boxes decoded by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.openvino.detection import DetectionOutput

OPCONF_TYPES = "DetectionOutput"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_boxes_decoded_by_hand() -> None:
    # A 4 x 2 prior around (4, 3) with variances 0.5; the centre moves by 0.5 * 1 and 0.5 * 2 sizes.
    priors = np.array([[[2, 2, 6, 4], [0.5, 0.5, 0.5, 0.5]]], np.float32)
    moves = np.array([[1, 2, 0, 2 * np.log(2)]], np.float32)
    scores = np.array([[0.2, 0.8]], np.float32)
    op = DetectionOutput(
        keep_top_k=(2,),
        nms_threshold=0.5,
        code_type="caffe.PriorBoxParameter.CENTER_SIZE",
        normalized=True,
    )
    found = op.kernel()(moves, scores, priors)
    assert found.shape == (1, 1, 2, 7)
    # The centre is (4 + 0.5 * 4, 3 + 1 * 2), the width 4 and the height 2 * 2.
    np.testing.assert_allclose(found[0, 0, 0], [0, 1, 0.8, 4, 3, 8, 7], rtol=1e-6)
    assert found[0, 0, 1, 0] == -1


def test_corners_move_independently() -> None:
    priors = np.array([[[0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.2, 0.2]]], np.float32)
    moves = np.array([[1, -1, 1, 9]], np.float32)
    op = DetectionOutput(keep_top_k=(1,), nms_threshold=0.5, normalized=True, clip_before_nms=True)
    found = op.kernel()(moves, np.array([[0.0, 0.5]], np.float32), priors)
    np.testing.assert_allclose(found[0, 0, 0], [0, 1, 0.5, 0.2, 0.1, 0.5, 1], rtol=1e-6)
