"""Activations of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn, half

X, BIAS = drawn(1, 2, 5, 8, scale=3), drawn(2, 8)

CASES = [
    Case("Gelu", [X]),
    Case("Gelu", [X], opset=20),
    Case("BiasGelu", [X, BIAS]),
    Case("BiasGelu", [X, BIAS], constants=[1], opset=11),
    Case("FastGelu", [X]),
    Case("FastGelu", [X, BIAS], opset=20),
    Case("QuickGelu", [X]),
    Case("QuickGelu", [X], alpha=0.5),
    Case("FastGelu", half(X, BIAS), tolerance=2e-3),
    Case("QuickGelu", half(X), tolerance=5e-3),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
