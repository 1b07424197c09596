"""ONNX operations that are converted by the function that defines them in the standard."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop

CASES = (
    "test_causal_conv_with_state_silu_with_past_state",
    "test_flexattention_causal_mask",
    "test_flexattention_gqa",
    "test_linear_attention_gated_delta_gqa",
    "test_linear_attention_prefill_with_past",
)


@cache
def _tests() -> dict[str, Any]:
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {test.name: test for test in loader.load_model_tests(kind="node")}


@pytest.mark.parametrize("name", CASES)
def test_imports(name: str, tmp_path: Path) -> None:
    test = _tests()[name]
    onnx.save(test.model, tmp_path / "model.onnx")
    model, _ = irloop.convert(tmp_path / "model.onnx")
    inputs, outputs = test.data_sets[0]
    found = irloop.run(model, [np.asarray(item) for item in inputs])
    for got, expected in zip(found.values(), outputs, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_operations_with_a_rule_are_not_expanded(tmp_path: Path) -> None:
    test = _tests()["test_attention_4d"]
    onnx.save(test.model, tmp_path / "model.onnx")
    model = irloop.read_model(tmp_path / "model.onnx", functions=True)
    assert [node.op.type for node in model.graph.nodes] == ["Attention"]
