"""Normalisations and dropout: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.onnx import legacy
from irloop.dialects.onnx import normalization as onnx
from irloop.dialects.openvino import normalization as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType

OPCONF_TYPES = """
    BatchNormInference GroupNormalization LRN MVN NormalizeL2
"""

BACKEND_OPS = """
    BatchNormalization Dropout GroupNormalization InstanceNormalization LRN LayerNormalization
    LpNormalization MeanVarianceNormalization RMSNormalization
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def f32(numbers: Any) -> Any:
    return np.array(numbers, np.float32)


def test_operands_have_the_order_of_each_version() -> None:
    x, gamma, beta, mean, variance = f32([[8.0]]), f32([2]), f32([3]), f32([6]), f32([4])
    # The 8 becomes 1 when standardised; 2 * 1 + 3 is 5.
    older = ov.BatchNormInference1(0.0).kernel()(gamma, beta, x, mean, variance)
    newer = ov.BatchNormInference5(0.0).kernel()(x, gamma, beta, mean, variance)
    assert older.tolist() == newer.tolist() == [[5.0]]


def test_parameters_for_each_element() -> None:
    x = f32([[[1.0, 2.0]], [[3.0, 4.0]]])
    ones, zeros = np.ones((1, 2), np.float32), np.zeros((1, 2), np.float32)
    kernel = onnx.BatchNormalization7(epsilon=0.0, spatial=False).kernel()
    assert kernel(x, ones, f32([[10.0, 20.0]]), zeros, ones).tolist() == [
        [[11.0, 22.0]],
        [[13.0, 24.0]],
    ]


def test_running_statistics() -> None:
    x = f32([[1.0], [3.0]])
    one, zero = f32([1]), f32([0])
    kernel = onnx.BatchNormalization14(epsilon=0.0, momentum=0.75, training_mode=True).kernel(3)
    y, mean, variance = kernel(x, one, zero, zero, one)
    assert y.tolist() == [[-1.0], [1.0]]
    # 0.75 * 0 + 0.25 * 2 = 0.5, and 0.75 * 1 + 0.25 * 1 = 1.
    assert (mean.tolist(), variance.tolist()) == ([0.5], [1.0])


def test_epsilon_inside_and_outside_the_root() -> None:
    x, axes = f32([-1.0, 1.0]), np.array([0])
    inside = ov.MVN6(True, 3.0, "inside_sqrt").kernel()(x, axes)
    outside = ov.MVN6(True, 3.0, "OUTSIDE_SQRT").kernel()(x, axes)
    assert (inside.tolist(), outside.tolist()) == ([-0.5, 0.5], [-0.25, 0.25])
    assert ov.MVN6(False).kernel()(f32([1.0, 3.0]), axes).tolist() == [-1.0, 1.0]


def test_windows_of_even_size() -> None:
    x = f32([[1.0, 1.0, 1.0]])
    # OpenVINO's window has one element, ONNX's also the next one; alpha / size is 1.
    here = ov.LRN(2.0, 1.0, 0.0, 2).kernel()(x, np.array([1]))
    there = onnx.LRN(2, alpha=2.0, beta=1.0, bias=0.0).kernel()(x)
    assert here.tolist() == [[1.0, 1.0, 1.0]]
    assert there.tolist() == [[0.5, 0.5, 1.0]]


def test_vectors_of_zeros_are_not_divided_by_zero() -> None:
    assert onnx.LpNormalization(p=1).kernel()(f32([0.0, 0.0])).tolist() == [0.0, 0.0]
    assert onnx.LpNormalization(p=2).kernel()(f32([3.0, 4.0])).tolist() == pytest.approx([0.6, 0.8])
    kernel = ov.NormalizeL2(4.0, "max").kernel()
    assert kernel(f32([1.0]), np.array([0])).tolist() == [0.5]
    assert kernel(f32([-7.0, 2.0]), np.zeros(0, np.int64)).tolist() == [1.0, 1.0]


def test_scale_for_groups_and_for_channels() -> None:
    x = f32([[[-1.0, 1.0], [-1.0, 1.0]]])
    by_group = onnx.GroupNormalization18(1, epsilon=0.0).kernel()(x, f32([2]), f32([0]))
    by_channel = onnx.GroupNormalization21(1, epsilon=0.0).kernel()(x, f32([2, 3]), f32([0, 0]))
    assert by_group.tolist() == [[[-2.0, 2.0], [-2.0, 2.0]]]
    assert by_channel.tolist() == [[[-2.0, 2.0], [-3.0, 3.0]]]


def test_dropout_without_training() -> None:
    x = f32([1.0, 2.0])
    kept, mask = onnx.Dropout12().kernel(2)(x, np.float32(0.9), np.array(False))
    assert (kept.tolist(), mask.tolist()) == ([1.0, 2.0], [True, True])
    assert legacy.Dropout1().kernel(2)(x)[1].dtype == np.float32


def test_statistics_of_a_layer() -> None:
    kernel = onnx.LayerNormalization(epsilon=0.0).kernel(3)
    y, mean, inverse = kernel(f32([[1.0, 3.0], [2.0, 6.0]]), f32([1, 1]))
    assert y.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]
    assert (mean.tolist(), inverse.tolist()) == ([[2.0], [4.0]], [[1.0], [0.5]])


@pytest.mark.parametrize(
    ("op", "dims"),
    [
        (ov.BatchNormInference5(0.1), [(2, 3), (2,), (3,), (3,), (3,)]),
        (ov.BatchNormInference1(0.1), [(3,), (3,), (3,), (3,), (3,)]),
        (ov.GroupNormalization(2, 0.1), [(1, 3), (3,), (3,)]),
        (ov.MVN6(True, eps_mode="beside_sqrt"), [(2, 3)]),
        (onnx.InstanceNormalization(), [(1, 2, 3), (3,), (2,)]),
        (onnx.GroupNormalization21(2), [(1, 3, 2), (3,), (3,)]),
        (onnx.LayerNormalization(axis=3), [(1, 3), (3,)]),
        (onnx.LpNormalization(p=3), [(2, 3)]),
        (onnx.MeanVarianceNormalization(), [(2, 3)]),
    ],
)
def test_contradictions(op: Any, dims: list[tuple[int, ...]]) -> None:
    builder = Builder(Graph("g"))
    types = [TensorType(ElementType.F32, Shape.of(*item)) for item in dims]
    with pytest.raises(InferenceError):
        builder.emit(op, *[builder.parameter("x", item) for item in types], n_outputs=1)
