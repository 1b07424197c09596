"""Tensor operations of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn

X = drawn(1, 2, 3, 5)
IMAGE = drawn(2, 2, 3, 5, 6)
ROIS = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.5, -0.3, 1.2, 0.7]], np.float32)
ITEMS = np.array([1, 0, 1], np.int32)
MATRICES = drawn(3, 2, 4, 4) + 3 * np.eye(4, dtype=np.float32)

SIZE = np.array([3, 4], np.int32)

CASES = [
    Case("ExpandDims", [X, np.array(1, np.int32)], constants=[1]),
    Case("ExpandDims", [X, np.array(-1, np.int32)]),
    Case("Pad", [X, np.array([[0, 1, 2, 1, 0, 0]], np.int64), np.array([2.5], np.float32)]),
    Case("Pad", [X, np.array([0, 1, 2, 1, 0, 0], np.int64)], mode="reflect", constants=[1]),
    Case("Pad", [X, np.array([0, 1, 2, 1, 0, 0], np.int64)], mode="edge", opset=11),
    Case("Range", [np.array([2], np.int64), np.array(9, np.int64)]),
    Case("Range", [np.array(v, np.float32) for v in (1.0, 4.0, 0.5)]),
    Case("Trilu", [X]),
    Case("Trilu", [X, np.array(-1, np.int64)], upper=0, opset=13),
    Case("Trilu", [X, np.array(1, np.int64)], upper=1, opset=13),
    Case("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3),
    Case("GridSample", [IMAGE, drawn(4, 2, 4, 3, 2, scale=0.8)]),
    Case("GridSample", [IMAGE, drawn(4, 2, 4, 3, 2)], mode="bicubic", padding_mode="border"),
    Case("GridSample", [IMAGE, drawn(4, 2, 4, 3, 2)], mode="nearest", align_corners=1, opset=20),
    Case("CDist", [drawn(5, 4, 6), drawn(6, 3, 6)], metric="euclidean", tolerance=1e-4),
    Case("CDist", [drawn(5, 4, 6), drawn(6, 3, 6)], metric="sqeuclidean", tolerance=1e-4),
    Case("Inverse", [MATRICES], tolerance=1e-4),
    Case("Inverse", [drawn(3, 3, 3)], tolerance=1e-3, opset=11),
    # The rows are exchanged. From opset 22 on, ONNX Runtime has no Det.
    Case("Inverse", [MATRICES[:, ::-1]], tolerance=1e-4, opset=23),
    Case("Inverse", [drawn(4, 12, 12) + 5 * np.eye(12, dtype=np.float32)], tolerance=1e-4),
    Case("CropAndResize", [IMAGE, ROIS, ITEMS, np.array([4, 3], np.int32)], constants=[3]),
    Case(
        "CropAndResize",
        [IMAGE, ROIS, ITEMS, np.array([1, 5], np.int32)],
        constants=[3],
        extrapolation_value=7.0,
        opset=20,
    ),
    Case(
        "CropAndResize",
        [IMAGE, ROIS, ITEMS, np.array([4, 3], np.int32)],
        constants=[3],
        mode="nearest",
    ),
    # Row 1 of the result is at 0.1 * 5 + 2 = 2.5, and row 1 of the second at 0.49999997.
    *(
        Case(
            "CropAndResize",
            [drawn(5, 1, 3, rows, 7), np.array([box], np.float32), ITEMS[:1] * 0, SIZE],
            constants=[3],
            mode="nearest",
        )
        for rows, box in [(6, [0.1, 0.2, 0.9, 0.8]), (2, [0.1, 0, 0.9, 1])]
    ),
    # The centre of a box with one column is just outside of the image.
    Case(
        "CropAndResize",
        [IMAGE, np.array([[0, 0.9, 1, 1.2]], np.float32), ITEMS[:1], np.array([4, 1], np.int32)],
        constants=[3],
        mode="nearest",
        extrapolation_value=7.0,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
