"""Activation functions: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import activation as onnx
from irloop.dialects.onnx import legacy
from irloop.dialects.openvino import activation as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.kernels import activation as kernels

OPCONF_TYPES = """
    Clamp Elu Gelu GRN HardSigmoid HSigmoid HSwish LogSoftmax Mish PRelu Relu Selu Sigmoid Softmax
    SoftPlus SoftSign Swish
"""

BACKEND_OPS = """
    Celu Clip Elu Gelu HardSigmoid HardSwish Hardmax LeakyRelu LogSoftmax Mish PRelu Relu Selu
    Shrink Sigmoid Softmax Softplus Softsign SwiGLU Swish ThresholdedRelu
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_slope_of_one_dimension_belongs_to_axis_1() -> None:
    x = -np.ones((1, 2, 2), np.float32)
    slope = np.array([2, 3], np.float32)
    assert ov.PReLU().kernel()(x, slope).tolist() == [[[-2, -2], [-3, -3]]]
    assert onnx.PRelu().kernel()(x, slope).tolist() == [[[-2, -3], [-2, -3]]]
    assert legacy.PRelu1().kernel()(x, slope).tolist() == [[[-2, -2], [-3, -3]]]


def test_integer_bounds_are_rounded_inwards() -> None:
    x = np.arange(-4, 5, dtype=np.int32)
    # The integers in [-1.5, 2.7] are -1 to 2.
    assert ov.Clamp(-1.5, 2.7).kernel()(x).tolist() == [-1, -1, -1, -1, 0, 1, 2, 2, 2]
    wide = ov.Clamp(-1e30, 1e30).kernel()(np.array([255, 0], np.uint8))
    assert wide.tolist() == [255, 0]


def test_clip_with_min_above_max_returns_max() -> None:
    x, low, high = (np.array(item, np.float32) for item in ([0, 5, 9], 7, 3))
    assert onnx.Clip11().kernel()(x, low, high).tolist() == [3, 3, 3]
    assert onnx.Clip11().kernel()(x, None, high).tolist() == [0, 3, 3]
    assert onnx.Clip11().kernel()(x, low).tolist() == [7, 7, 9]
    assert legacy.Clip1(min=1.0).kernel()(x).tolist() == [1, 5, 9]


def test_softmax_before_13_takes_all_dimensions_from_the_axis() -> None:
    x = np.zeros((2, 2, 3), np.float32)
    assert onnx.Softmax1().kernel()(x)[0, 0, 0] == pytest.approx(1 / 6)
    assert onnx.Softmax13(axis=1).kernel()(x)[0, 0, 0] == pytest.approx(1 / 2)
    assert onnx.Softmax1(axis=-1).kernel()(x)[0, 0, 0] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (kernels.softplus, [-1000.0, 0.0, 1000.0], [0.0, np.log(2.0), 1000.0]),
        (kernels.sigmoid, [-1000.0, 0.0, 1000.0], [0.0, 0.5, 1.0]),
        (kernels.mish, [-1000.0, 0.0, 1000.0], [0.0, 0.0, 1000.0]),
        (kernels.softmax(0), [1000.0, 1000.0, 0.0], [0.5, 0.5, 0.0]),
        (kernels.log_softmax(0), [1000.0, 1000.0], [-np.log(2.0)] * 2),
        (kernels.hardmax(0), [1.0, 3.0, 3.0], [0.0, 1.0, 0.0]),
        (kernels.elu(2.0), [-1000.0, 0.0, 3.0], [-2.0, 0.0, 3.0]),
        (kernels.celu(2.0), [-1000.0, 0.0, 3.0], [-2.0, 0.0, 3.0]),
        (kernels.hard_swish, [-4.0, 0.0, 3.0], [0.0, 0.0, 3.0]),
        (kernels.thresholded_relu(1.0), [1.0, 1.5], [0.0, 1.5]),
        (kernels.shrink(1.0, 2.0), [-3.0, -2.0, 3.0], [-2.0, 0.0, 2.0]),
    ],
)
def test_values_near_zero_and_far_from_it(
    function: Any, x: list[float], expected: list[float]
) -> None:
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        result = function(np.array(x, dtype))
        assert result.dtype == dtype
        wide = result.astype(np.float64)
        np.testing.assert_allclose(wide, np.array(expected, dtype).astype(float), rtol=1e-2)


def test_beta_scales_the_gate() -> None:
    x = np.array([2.0], np.float32)
    expected = 2.0 / (1.0 + np.exp(-1.0))
    for result in (
        ov.Swish().kernel()(x, np.array([0.5], np.float32)),
        onnx.Swish(alpha=0.5).kernel()(x),
    ):
        np.testing.assert_allclose(result, [expected], rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "dims"),
    [
        (ov.SoftMax1(axis=2), (2, 3)),
        (ov.SoftMax1(axis=-1), (2, 3)),
        (ov.SoftMax8(axis=-3), (2, 3)),
        (ov.Clamp(2.0, 1.0), (2,)),
        (ov.GRN(1.0), (2,)),
        (ov.Gelu7("sigmoid"), (2,)),
        (onnx.Gelu("sigmoid"), (2,)),
        (onnx.Softmax1(axis=4), (2, 3)),
    ],
)
def test_contradictions(op: Any, dims: tuple[int, ...]) -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(*dims)))
    with pytest.raises(InferenceError):
        builder(op, x)


def test_slope_has_to_broadcast() -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2, 3)))
    slope = builder.parameter("s", TensorType(ElementType.F32, Shape.of(2)))
    with pytest.raises(InferenceError):
        builder(onnx.PRelu(), x, slope)
