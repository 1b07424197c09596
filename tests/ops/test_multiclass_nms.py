"""Suppression over all classes: OpenVINO's own values, and overlaps worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from irloop.dialects.openvino import multiclass_nms as ov

OPCONF_TYPES = "MulticlassNms MatrixNms"

# Squares with side 2: the second overlaps half of the first (union 6, intersection 2), the third
# neither.
BOXES = np.array([[[0, 0, 2, 2], [1, 0, 3, 2], [8, 8, 10, 10]]], np.float32)
SCORES = np.array([[[0.9, 0.6, 0.3]]], np.float32)


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_decay_by_hand() -> None:
    # The overlap is 2 / 6; the first box overlaps no better box, so linear decay is 1 - 1 / 3.
    rows, indices, counts = ov.MatrixNms(sort_result_type="score").kernel(3)(BOXES, SCORES)
    np.testing.assert_allclose(rows[:, 1], [0.9, 0.4, 0.3], rtol=1e-6)
    assert indices.reshape(-1).tolist() == [0, 1, 2]
    assert counts.tolist() == [3]
    gaussian = ov.MatrixNms(decay_function="gaussian", gaussian_sigma=2.0)
    rows, _, _ = gaussian.kernel(3)(BOXES, SCORES)
    np.testing.assert_allclose(rows[1, 1], 0.6 * np.exp(-2 / 9), rtol=1e-6)


def test_overlaps_decide_which_boxes_are_kept() -> None:
    rows, indices, _ = ov.MulticlassNms8(iou_threshold=0.3).kernel(3)(BOXES, SCORES)
    assert indices.reshape(-1).tolist() == [0, 2]
    assert rows[:, 2:].tolist() == BOXES[0, [0, 2]].tolist()
    _, indices, _ = ov.MulticlassNms8(iou_threshold=0.34).kernel(3)(BOXES, SCORES)
    assert indices.reshape(-1).tolist() == [0, 1, 2]


def test_each_class_has_its_own_boxes() -> None:
    # Two items with one and two boxes; the boxes of the second item overlap only in class 0.
    first = [[0, 0, 1, 1], [0, 0, 2, 2], [0, 0, 2, 2]]
    second = [[0, 0, 1, 1], [0, 0, 2, 2], [4, 4, 6, 6]]
    boxes = np.array([first, second], np.float32)
    scores = np.array([[0.5, 0.9, 0.8], [0.4, 0.7, 0.6]], np.float32)
    run = ov.MulticlassNms(iou_threshold=0.5, sort_result_type="score").kernel(3)
    rows, indices, counts = run(boxes, scores, np.array([1, 2]))
    assert counts.tolist() == [2, 3]
    assert indices.reshape(-1).tolist() == [0, 1, 2, 3, 5]
    np.testing.assert_allclose(rows[:, 1], [0.5, 0.4, 0.9, 0.7, 0.6], rtol=1e-6)
