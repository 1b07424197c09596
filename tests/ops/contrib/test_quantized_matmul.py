"""Products with quantized weights of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn

Array = np.ndarray[Any, np.dtype[Any]]


def codes(seed: int, *shape: int, signed: bool = False) -> Array:
    """Random 8-bit integers."""
    found = np.random.default_rng(seed).integers(0, 256, shape)
    return (found - 128).astype(np.int8) if signed else found.astype(np.uint8)


def positive(seed: int, *shape: int) -> Array:
    found: Array = np.abs(drawn(seed, *shape)) * np.float32(0.05) + np.float32(0.01)
    return found


A, B = drawn(1, 2, 3, 6), codes(2, 6, 5)
ONE = np.array(0.02, np.float32)
TWO, HALF = np.array(0.04, np.float32), np.array(0.01, np.float32)
U8 = np.array(120, np.uint8)
#: Numbers of 7 bits, because ONNX Runtime adds pairs of products of u8 and i8 in 16 bits on some
#: processors.
SIGNED = codes(2, 6, 5, signed=True) // 2
X = drawn(3, 2, 3, 40)
CODES = codes(4, 7, 3, 8)
SCALES = positive(5, 7, 3)

CASES = [
    Case("DynamicQuantizeMatMul", [A, B, ONE, U8], constants=[1, 2, 3]),
    Case(
        "DynamicQuantizeMatMul",
        [A, SIGNED, positive(3, 5), None, drawn(4, 5)],
    ),
    Case("MatMulIntegerToFloat", [codes(1, 3, 6), B, ONE, TWO, U8, U8, drawn(4, 5)]),
    Case("MatMulIntegerToFloat", [codes(1, 3, 6), B, ONE, positive(3, 5), U8], opset=11),
    Case("QGemm", [codes(1, 3, 6), ONE, U8, B, TWO, U8]),
    Case(
        "QGemm",
        [
            *(codes(1, 6, 3), ONE, U8, codes(2, 5, 6), TWO, U8),
            *(np.arange(5, dtype=np.int32) * 100, np.array(0.5, np.float32), U8),
        ],
        transA=1,
        transB=1,
        alpha=0.5,
    ),
    Case("MatMulNBits", [X, CODES, SCALES], K=40, N=7, block_size=16),
    Case("MatMulNBits", [X, CODES, SCALES, codes(6, 7, 2)], K=40, N=7, block_size=16),
    Case("MatMulNBits", [X, CODES, SCALES], K=40, N=7, block_size=16, constants=[1, 2], opset=21),
    Case(
        "MatMulNBits",
        [X, CODES, SCALES, codes(6, 7, 2)],
        K=40,
        N=7,
        block_size=16,
        constants=[1, 2, 3],
        opset=13,
    ),
    # Constant weights with computed scales and zero points.
    Case("MatMulNBits", [X, CODES, SCALES], K=40, N=7, block_size=16, constants=[1], opset=21),
    Case(
        "MatMulNBits",
        [X, CODES, SCALES, positive(9, 7, 3) * 100],
        K=40,
        N=7,
        block_size=16,
        constants=[1, 2],
        tolerance=1e-4,
    ),
    Case("MatMulNBits", [X, codes(4, 7, 3, 16), SCALES], K=40, N=7, block_size=16, bits=8),
    Case("MatMulNBits", [X, CODES, SCALES, None, None, drawn(8, 7)], K=40, N=7, block_size=16),
    Case(
        "MatMulBnb4",
        [X, codes(4, 140), positive(5, 18)],
        K=40,
        N=7,
        block_size=16,
        quant_type=1,
        constants=[1, 2],
    ),
    Case("MatMulBnb4", [X, codes(4, 140), positive(5, 18)], K=40, N=7, block_size=16, quant_type=1),
    Case("MatMulBnb4", [X, codes(4, 140), positive(5, 18)], K=40, N=7, block_size=16, quant_type=0),
    Case(
        "GatherBlockQuantized",
        [codes(1, 6, 16), np.array([[0, 5], [3, 3]], np.int64), positive(2, 6, 2)],
        block_size=16,
        quantize_axis=1,
        constants=[0, 2],
    ),
    Case(
        "GatherBlockQuantized",
        [codes(1, 6, 16), np.array([4, 0], np.int32), positive(2, 6, 2), codes(3, 6, 1)],
        block_size=16,
        quantize_axis=1,
        constants=[0, 2, 3],
    ),
    Case(
        "QAttention",
        [
            *(codes(1, 2, 4, 6), codes(2, 6, 24), drawn(3, 24), ONE, HALF),
            *(np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32), U8, U8),
        ],
        num_heads=2,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
