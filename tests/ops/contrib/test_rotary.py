"""Rotary embeddings of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn, half

ANGLES = drawn(1, 9, 3)
COS, SIN = np.cos(ANGLES), np.sin(ANGLES)
PLACES = np.array([[3, 2, 1, 0], [4, 4, 8, 7]], np.int64)
FIRST = np.array([2], np.int64)

CASES = [
    Case("RotaryEmbedding", [drawn(2, 2, 4, 12), PLACES, COS, SIN]),
    Case("RotaryEmbedding", [drawn(2, 2, 4, 12), FIRST, COS, SIN], interleaved=1, opset=11),
    Case("RotaryEmbedding", [drawn(2, 2, 3, 4, 6), PLACES, COS, SIN]),
    Case("RotaryEmbedding", [drawn(2, 2, 3, 4, 6), PLACES, COS, SIN], interleaved=1),
    Case(
        "RotaryEmbedding",
        [drawn(2, 2, 4, 16), PLACES, COS, SIN],
        num_heads=2,
        rotary_embedding_dim=6,
    ),
    Case("RotaryEmbedding", [*half(drawn(2, 2, 4, 12)), PLACES, *half(COS, SIN)], tolerance=2e-3),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
