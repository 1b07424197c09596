"""Convolutions of ONNX Runtime, against ONNX Runtime; group norms by their definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.ops.contrib.against_runtime import Case, agree, drawn, model_of

Array = np.ndarray[Any, np.dtype[Any]]

X, W, B = drawn(1, 2, 4, 6, 7), drawn(2, 6, 2, 3, 3), drawn(3, 6)
Z = drawn(4, 2, 6, 6, 7)

CASES = [
    *(
        Case(
            "FusedConv",
            [X, W, B],
            constants=[1],
            group=2,
            pads=[1, 1, 1, 1],
            activation=name,
            activation_params=params,
        )
        for name, params in (
            ("LeakyRelu", [0.25]),
            ("Clip", [-0.5, 0.75]),
            ("HardSigmoid", [0.3, 0.4]),
        )
    ),
    Case(
        "FusedConv",
        [X, W, None],
        constants=[1],
        group=2,
        strides=[2, 1],
        activation="Tanh",
        opset=11,
    ),
    Case("FusedConv", [X, W, B, Z], constants=[1], group=2, pads=[1, 1, 1, 1], activation="Relu"),
    Case(
        "FusedConv", [X, W, B], constants=[1], group=2, auto_pad="SAME_UPPER", activation="Sigmoid"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


def normed(x: Array, gamma: Array, beta: Array, groups: int) -> Array:
    """Group norm of [N, H, W, C] by its definition, epsilon 1e-5."""
    n, h, w, c = x.shape
    parts = x.astype(np.float64).reshape(n, h * w, groups, c // groups)
    mean = parts.mean((1, 3), keepdims=True)
    found = (parts - mean) / np.sqrt(((parts - mean) ** 2).mean((1, 3), keepdims=True) + 1e-5)
    scaled: Array = found.reshape(x.shape) * gamma + beta
    return scaled


@pytest.mark.parametrize("silu", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
def test_group_norms_are_what_their_definition_says(silu: int, last: int, tmp_path: Path) -> None:
    """ONNX Runtime's CPU provider has none of these operations."""
    x, skip, gamma, beta = drawn(1, 2, 3, 5, 8), drawn(2, 2, 8), drawn(3, 8), drawn(4, 8)
    total = x + skip[:, None, None, :]
    given = x if last else x.transpose(0, 3, 1, 2)
    words: dict[str, Any] = {"groups": 4, "activation": silu, "channels_last": last}
    cases = [
        (Case("GroupNorm", [given, gamma, beta], **words), x),
        (Case("SkipGroupNorm", [given, gamma, beta, skip], outputs=2, **words), total),
    ]
    for case, data in cases:
        path = tmp_path / "model.onnx"
        path.write_bytes(model_of(case).SerializeToString())
        expected = normed(data, gamma, beta, 4)
        if silu:
            expected = expected / (1 + np.exp(-expected))
        found = list(Session(irloop.read_model(path)).run(case.given).values())
        for one, other in zip(found, [expected, data], strict=False):
            moved = one if last else one.transpose(0, 2, 3, 1)
            np.testing.assert_allclose(moved, other, 1e-4, 1e-5)


def test_channels_last_is_conv_with_channels_moved(engines: Engines, tmp_path: Path) -> None:
    """ONNX Runtime's CPU provider has no f32 kernel for these operations, so the expected values
    come from Conv.
    """
    words: dict[str, Any] = {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(Case("Conv", [X, W, B], domain="", **words)).SerializeToString())
    (expected,) = engines.run("onnxruntime", path, [X, W, B], tmp_path)
    moved, addend = X.transpose(0, 2, 3, 1), drawn(5, *expected.transpose(0, 2, 3, 1).shape)
    wanted = expected.transpose(0, 2, 3, 1)
    cases = [
        (Case("NhwcConv", [moved, W, B], **words), wanted),
        (
            Case("NhwcFusedConv", [moved, W, B, addend], activation="Relu", **words),
            np.maximum(wanted + addend, 0),
        ),
    ]
    for case, numbers in cases:
        path.write_bytes(model_of(case).SerializeToString())
        (found,) = Session(irloop.read_model(path)).run(case.given).values()
        np.testing.assert_allclose(found, numbers, 1e-4, 1e-5)
