"""Normalisations of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn, half

X, SKIP = drawn(1, 2, 5, 8), drawn(2, 2, 5, 8)
GAMMA, BETA, BIAS = drawn(3, 8), drawn(4, 8), drawn(5, 8)
IDS = np.array([[1, 4, 2, 0], [3, 3, 1, 5]], np.int32)
SEGMENTS = np.array([[0, 0, 1, 1], [0, 1, 1, 1]], np.int32)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
WORDS, PLACES, PARTS = drawn(6, 6, 8), drawn(7, 9, 8), drawn(8, 2, 8)
POSITIONS = np.array([[3, 2, 1, 0], [4, 4, 8, 7]], np.int32)

CASES = [
    Case("SkipLayerNormalization", [X, SKIP, GAMMA, BETA]),
    Case("SkipLayerNormalization", [X, SKIP, GAMMA], epsilon=0.1, opset=11),
    Case("SkipLayerNormalization", [X, SKIP[:1], GAMMA, BETA, BIAS], outputs=["y", "", "", "s"]),
    Case("SkipLayerNormalization", [X, SKIP[0], GAMMA, None, BIAS], opset=13),
    Case("SkipLayerNormalization", [X[0], SKIP[0], GAMMA, BETA], opset=21, constants=[2, 3]),
    Case("SkipSimplifiedLayerNormalization", [X, SKIP, GAMMA], epsilon=0.01),
    Case("SkipSimplifiedLayerNormalization", [X, SKIP, GAMMA, BIAS], outputs=["y", "", "", "s"]),
    # ONNX Runtime writes a mean of 0; OpenVINO's own reader writes the mean of the sum.
    Case("SkipSimplifiedLayerNormalization", [X, SKIP, GAMMA], outputs=["y", "m", "d", "s"]),
    Case("SkipSimplifiedLayerNormalization", half(X, SKIP, GAMMA), outputs=["y", "m", "d"]),
    Case("SimplifiedLayerNormalization", [X, GAMMA], domain="", opset=12),
    Case("SimplifiedLayerNormalization", [X, drawn(9, 5, 8)], domain="", axis=1, opset=18),
    Case("LayerNormalization", [X, GAMMA, BETA], domain="", opset=12, constants=[1]),
    Case("LayerNormalization", [X, drawn(9, 5, 8)], domain="", axis=-2, opset=14, outputs=3),
    # The result has the type of the scale.
    Case(
        "LayerNormalization",
        [*half(X), GAMMA, BETA],
        domain="",
        opset=12,
        opens=False,
        tolerance=2e-3,
    ),
    Case(
        "EmbedLayerNormalization",
        [IDS, SEGMENTS, WORDS, PLACES, PARTS, GAMMA, BETA, MASK],
        outputs=2,
    ),
    Case(
        "EmbedLayerNormalization",
        [IDS, None, WORDS, PLACES, None, GAMMA, BETA, None, POSITIONS],
        outputs=3,
        epsilon=0.5,
    ),
    Case("EmbedLayerNormalization", [IDS, None, WORDS, PLACES, None, GAMMA, BETA], outputs=2),
    Case("SkipLayerNormalization", half(X, SKIP, GAMMA, BETA), tolerance=2e-3),
    Case("SkipSimplifiedLayerNormalization", half(X, SKIP, GAMMA), tolerance=2e-3),
    Case(
        "EmbedLayerNormalization",
        [IDS, None, *half(WORDS, PLACES), None, *half(GAMMA, BETA)],
        outputs=2,
        tolerance=2e-3,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
