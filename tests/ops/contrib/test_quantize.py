"""QuantizeLinear and DequantizeLinear of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn

X = drawn(1, 2, 3, 5, scale=20)
ONE, ZERO = np.array(0.5, np.float32), np.array(3, np.uint8)
SCALES = np.array([0.5, 0.125, 2.0], np.float32)
#: ONNX Runtime on x86 returns the lowest code for NaN.
SPECIAL = np.array([[np.nan, np.inf, -np.inf], [1.0, np.nan, -np.nan]], np.float32)
CODES = np.arange(30).reshape(2, 3, 5)

CASES = [
    Case("QuantizeLinear", [X, ONE, ZERO]),
    Case("QuantizeLinear", [X, ONE], opset=11),
    Case("QuantizeLinear", [X, ONE, ZERO.astype(np.int8)], opset=21),
    Case("QuantizeLinear", [X, ONE, ZERO.astype(np.uint16)]),
    Case("QuantizeLinear", [X, ONE, ZERO.astype(np.int16)], opset=12),
    Case("QuantizeLinear", [X, SCALES, np.array([1, 2, 3], np.int8)], axis=1),
    Case("QuantizeLinear", [X, SCALES, np.array([1, 2, 3], np.uint16)], axis=-2),
    Case("QuantizeLinear", [SPECIAL, ONE]),
    Case("QuantizeLinear", [SPECIAL, ONE, ZERO.astype(np.int8)]),
    Case("QuantizeLinear", [SPECIAL, SCALES, np.array([1, 2, 3], np.int8)], axis=1),
    Case("QuantizeLinear", [X, np.array(np.inf, np.float32), ZERO.astype(np.int8)]),
    Case("DequantizeLinear", [CODES.astype(np.uint8), ONE, ZERO]),
    Case("DequantizeLinear", [CODES.astype(np.int32), ONE], opset=11),
    Case("DequantizeLinear", [CODES.astype(np.uint16), ONE, ZERO.astype(np.uint16)]),
    Case("DequantizeLinear", [CODES.astype(np.int16), ONE, ZERO.astype(np.int16)], opset=21),
    Case("DequantizeLinear", [CODES.astype(np.int8), SCALES, np.array([1, 2, 3], np.int8)], axis=1),
    Case("DequantizeLinear", [CODES.astype(np.int16), SCALES], axis=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
