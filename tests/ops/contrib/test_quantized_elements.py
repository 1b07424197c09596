"""8-bit operations of ONNX Runtime, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.execution.session import Session
from tests.ops.contrib.against_runtime import Case, agree, model_of

Array = np.ndarray[Any, np.dtype[Any]]


def codes(seed: int, *shape: int, signed: bool = False) -> Array:
    """Random 8-bit integers."""
    found = np.random.default_rng(seed).integers(0, 256, shape)
    return (found - 128).astype(np.int8) if signed else found.astype(np.uint8)


def scale(number: float) -> Array:
    return np.array(number, np.float32)


def zero(number: int, *, signed: bool = False) -> Array:
    return np.array(number, np.int8 if signed else np.uint8)


X, Y = codes(1, 2, 3, 4, 5), codes(2, 2, 3, 4, 5)
POINTS = [scale(0.02), zero(120)]
OTHERS = [scale(0.03), zero(131)]
RESULT = [scale(0.05), zero(127)]

WINDOW: dict[str, Any] = {"kernel_shape": [2, 3], "pads": [1, 0, 0, 1]}

CASES = [
    Case("QLinearAdd", [X, *POINTS, Y, *OTHERS, *RESULT]),
    Case("QLinearAdd", [X, *POINTS, Y[0, 0], *OTHERS, *RESULT], opset=11),
    Case("QLinearMul", [X, *POINTS, Y, *OTHERS, *RESULT]),
    Case("QLinearLeakyRelu", [X, *POINTS, *RESULT], alpha=0.25),
    Case("QLinearSigmoid", [X, *POINTS, scale(1 / 256), zero(0)]),
    Case("QLinearSoftmax", [X, *POINTS, scale(1 / 256), zero(0)], named={"opset": 13}, axis=1),
    Case("QLinearSoftmax", [X, *POINTS, scale(1 / 256), zero(0)], named={"opset": 12}, axis=2),
    Case("QLinearGlobalAveragePool", [X, *POINTS, *RESULT]),
    Case("QLinearGlobalAveragePool", [X, *POINTS, *RESULT], channels_last=1),
    Case(
        "QLinearAveragePool", [X, *POINTS, *RESULT], kernel_shape=[2, 2], pads=[1, 0, 0, 1], codes=1
    ),
    Case(
        "QLinearAveragePool", [X, *POINTS, *RESULT], kernel_shape=[2, 3], channels_last=1, codes=1
    ),
    Case(
        "QLinearAveragePool",
        [codes(1, 2, 5, 6, 3, signed=True), scale(0.02), zero(3, signed=True), scale(0.05)],
        kernel_shape=[2, 2],
        channels_last=1,
        codes=1,
        opset=21,
    ),
    Case("QLinearConcat", [*RESULT, X, *POINTS, Y, *OTHERS], axis=1),
    Case("QLinearWhere", [X > 100, X, *POINTS, Y, *OTHERS, *RESULT]),
    Case(
        "QLinearAdd",
        [
            *(codes(1, 3, 4, signed=True), scale(0.02), zero(3, signed=True)),
            *(codes(2, 3, 4, signed=True), scale(0.03), zero(-4, signed=True)),
            *(scale(0.05), zero(1, signed=True)),
        ],
    ),
]

#: Calibration of a mask with -3.4e38 yields such scales. One row has equal codes.
MASKED = np.array([[[-7, 3], [65, 115]], [[-128, -128], [-128, -128]]], np.int8)
EXTREMES = [
    Case(
        "QLinearSoftmax",
        [codes, scale(factor), point, scale(1 / 256), np.array(low, codes.dtype)],
        named={"opset": opset},
        constants=[1, 2, 3, 4],
        axis=1,
    )
    for factor in (np.inf, 3.4e38, 2.7e36, 1e36)
    for opset in (12, 13)
    for codes, point, low in (
        (MASKED, zero(127, signed=True), -128),
        (MASKED, zero(-128, signed=True), -128),
        ((MASKED + np.int16(128)).astype(np.uint8), zero(255), 0),
    )
]


@pytest.mark.parametrize("case", EXTREMES, ids=lambda c: f"{c.inputs[1]}-{c.inputs[2]}-{c}")
def test_softmax_with_a_scale_that_overflows(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_results_equal_those_of_onnx_runtime(case: Case, engines: Engines, tmp_path: Path) -> None:
    agree(case, engines, tmp_path)


def test_the_mean_over_axes_is_what_its_definition_says(tmp_path: Path) -> None:
    """ONNX Runtime's CPU provider has no QLinearReduceMean."""
    case = Case("QLinearReduceMean", [X, *POINTS, *RESULT], axes=[1, 3], keepdims=0)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(case).SerializeToString())
    (found,) = Session(irloop.read_model(path)).run(case.given).values()
    mean = ((X.astype(np.float64) - 120) * 0.02).mean((1, 3))
    np.testing.assert_allclose(found, np.clip(np.rint(mean / 0.05) + 127, 0, 255), atol=1)
