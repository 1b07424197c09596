"""Matrix products of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import Case, agree, drawn

A, B = drawn(1, 2, 3, 4, 5), drawn(2, 2, 3, 5, 6)

CASES = [
    Case("FusedMatMul", [A, B], alpha=0.125),
    Case("FusedMatMul", [A, drawn(2, 3, 6, 5)], transB=1, alpha=2.0),
    Case("FusedMatMul", [drawn(1, 5, 4), B], transA=1),
    Case("FusedMatMul", [drawn(1, 4, 2, 3, 5), B], transBatchA=1),
    Case(
        "FusedMatMul",
        [drawn(1, 4, 2, 3, 5), drawn(2, 6, 2, 3, 5)],
        transBatchA=1,
        transBatchB=1,
        transB=1,
    ),
    Case("FusedMatMul", [drawn(1, 5), drawn(2, 5, 6)], transA=1),
    # ONNX Runtime does not transpose a matrix that it multiplies by a vector.
    Case("FusedMatMul", [drawn(1, 5, 3), drawn(2, 5)], transA=1),
    Case("FusedMatMul", [drawn(1, 2, 5, 3), drawn(2, 5)], transA=1, constants=[1]),
    Case("TransposeMatMul", [drawn(1, 1, 2), drawn(2, 1)], transA=1, transB=1),
    Case("FusedMatMul", [drawn(1, 5, 5), drawn(2, 5)], transA=1),
    Case("FusedMatMul", [drawn(1, 5), drawn(2, 5, 5)], transB=1),
    Case("TransposeMatMul", [drawn(1, 2, 3, 5), drawn(2, 5)], alpha=2.0, constants=[1]),
    Case("TransposeMatMul", [A, drawn(2, 3, 6, 5)], transB=1, alpha=2.0),
    *(
        Case(
            "FusedGemm",
            [drawn(1, 4, 5), drawn(2, 5, 6), drawn(3, 6)],
            activation=name,
            activation_alpha=0.3,
            activation_beta=0.4,
            alpha=0.5,
            beta=2.0,
        )
        for name in (
            *("Relu", "LeakyRelu", "Tanh", "Sigmoid"),
            *("HardSigmoid", "Elu", "Softplus", "Softsign"),
        )
    ),
    Case("FusedGemm", [drawn(1, 5, 4), drawn(2, 6, 5)], activation="Relu", transA=1, transB=1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)
