"""Attention of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.ops.contrib.against_runtime import Case, agree, drawn, model_of

X, W, B = drawn(1, 2, 4, 6), drawn(2, 6, 24, scale=0.5), drawn(3, 24)
PAST = drawn(4, 2, 2, 2, 3, 4)
ADDEND = drawn(5, 2, 2, 4, 4)
QUERY, KEY, VALUE = drawn(6, 2, 4, 8), drawn(7, 2, 5, 8), drawn(8, 2, 5, 12)
PAST_KEY, PAST_VALUE = drawn(9, 2, 2, 3, 4), drawn(10, 2, 2, 3, 4)


def i32(items: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(items, np.int32)


SEEN = i32([[1, 1, 1, 0], [1, 0, 1, 1]])

CASES = [
    Case("Attention", [X, W, B], num_heads=2),
    Case("Attention", [X, W, B], num_heads=4, scale=0.3, opset=11),
    Case("Attention", [X, W, B], num_heads=2, unidirectional=1, constants=[1, 2]),
    Case("Attention", [X, W, B, SEEN], num_heads=2),
    Case("Attention", [X, W, B, SEEN], num_heads=2, mask_filter_value=-2.0, unidirectional=1),
    Case("Attention", [X, W, B, i32([[[1, 0, 1, 1]] * 4, [[0, 1, 1, 0]] * 4])], num_heads=2),
    Case("Attention", [X, W, B, i32([3, 2])], num_heads=2),
    Case("Attention", [X, W, B, i32([3, 4, 0, 1])], num_heads=2, opset=21),
    Case("Attention", [X, W, B, None, None, ADDEND], num_heads=2),
    Case("Attention", [X, W, B, SEEN, None, ADDEND[:1, :1]], num_heads=2),
    # All keys are masked: what is added before the mask is rounded to a multiple of 0.001.
    Case("Attention", [X, W, B, SEEN * 0, None, ADDEND], num_heads=2, tolerance=1e-4),
    Case("Attention", [X, W, B, None, PAST], num_heads=2, outputs=2, unidirectional=1),
    Case("Attention", [X, W, B, i32([[1] * 6 + [0]] * 2), PAST], num_heads=2, outputs=2),
    Case("Attention", [X, W[:, :20], B[:20]], num_heads=2, qkv_hidden_sizes=[8, 8, 4]),
    Case("MultiHeadAttention", [QUERY, KEY, VALUE], num_heads=2),
    Case("MultiHeadAttention", [QUERY, KEY, VALUE, drawn(11, 28)], num_heads=4, scale=0.25),
    Case("MultiHeadAttention", [QUERY, KEY, VALUE, None, i32([[1, 1, 0, 1, 0]] * 2)], num_heads=2),
    Case("MultiHeadAttention", [QUERY, KEY, VALUE, None, i32([3, 5])], num_heads=2),
    # Lengths, and the offsets of queries and keys in a packed batch.
    Case(
        "MultiHeadAttention",
        [QUERY, KEY, VALUE, None, i32([3, 5, 0, 4, 8, 0, 5, 10])],
        num_heads=2,
    ),
    Case("MultiHeadAttention", [QUERY, QUERY * 2, QUERY + 1], num_heads=2, unidirectional=1),
    # More keys than queries: the last query attends to all keys.
    Case("MultiHeadAttention", [QUERY, KEY, VALUE], num_heads=2, unidirectional=1),
    Case("MultiHeadAttention", [QUERY[:, :1], KEY, VALUE], num_heads=2, unidirectional=1),
    Case(
        "MultiHeadAttention",
        [QUERY, QUERY * 2, QUERY + 1, None, None, drawn(12, 1, 2, 4, 7), PAST_KEY, PAST_VALUE],
        num_heads=2,
        outputs=3,
    ),
    Case(
        "MultiHeadAttention",
        [QUERY, QUERY * 2, QUERY + 1, None, None, None, PAST_KEY, PAST_VALUE],
        num_heads=2,
        outputs=3,
        unidirectional=1,
    ),
    Case("MultiHeadAttention", [QUERY, PAST_KEY, PAST_VALUE, drawn(13, 24)], num_heads=2),
    Case("MultiHeadAttention", [QUERY, PAST_KEY, PAST_VALUE], num_heads=2, opset=12),
    Case(
        "MultiHeadAttention",
        [QUERY, KEY, VALUE],
        num_heads=2,
        outputs=["y", "", "", "w"],
        declared=True,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


def test_packed_forms_are_those_of_separate_inputs(engines: Engines, tmp_path: Path) -> None:
    """ONNX Runtime's CPU provider has no packed form, so the expected values come from the separate
    form.
    """
    query, key, value = drawn(14, 2, 4, 2, 5), drawn(15, 2, 4, 2, 5), drawn(16, 2, 4, 2, 5)
    separate = Case("MultiHeadAttention", [item.reshape(2, 4, 10) for item in (query, key, value)])
    packed = [
        [np.stack([query, key, value], axis=3)],
        [query.reshape(2, 4, 10), np.stack([key, value], axis=3)],
    ]
    separate.attributes = {"num_heads": 2}
    path = tmp_path / "separate.onnx"
    path.write_bytes(model_of(separate).SerializeToString())
    (expected,) = engines.run("onnxruntime", path, separate.given, tmp_path)
    for inputs in packed:
        path.write_bytes(
            model_of(Case("MultiHeadAttention", inputs, num_heads=2)).SerializeToString()
        )
        (found,) = Session(irloop.read_model(path)).run(inputs).values()
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
