"""Comparisons, logic, selection and bits: values of OpenVINO and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop.dialects.onnx import comparison as onnx
from irloop.dialects.openvino import comparison as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.kernels import comparison as kernels

OPCONF_TYPES = """
    BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Equal Greater
    GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor
    NotEqual Select Xor
"""

BACKEND_OPS = """
    And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf
    IsNaN Less LessOrEqual Not Or Where Xor
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_nan_is_unequal_to_itself() -> None:
    x = np.array([np.nan, 1.0], np.float32)
    assert kernels.equal(x, x).tolist() == [False, True]
    assert kernels.not_equal(x, x).tolist() == [True, False]
    assert kernels.less_equal(x, x).tolist() == [False, True]


@pytest.mark.parametrize(
    ("negative", "positive", "expected"),
    [
        (True, True, [True, True, False, False]),
        (True, False, [True, False, False, False]),
        (False, True, [False, True, False, False]),
        (False, False, [False, False, False, False]),
    ],
)
def test_infinities(negative: bool, positive: bool, expected: list[bool]) -> None:
    x = np.array([-np.inf, np.inf, np.nan, 1.0], np.float32)
    for op in (ov.IsInf(negative, positive), onnx.IsInf(negative, positive)):
        assert op.kernel()(x).tolist() == expected


def test_select_in_paddle_mode_aligns_with_the_third_operand() -> None:
    condition = np.array([True, False])
    then, otherwise = np.array([[1.0], [2.0]]), np.zeros((2, 3))
    result = ov.Select("pdpd", 0).kernel()(condition, then, otherwise)
    assert result.tolist() == [[1.0] * 3, [0.0] * 3]


@pytest.mark.parametrize(
    ("op", "x", "amount", "expected"),
    [
        (onnx.BitShift("LEFT"), [1, 64], [2, 2], [4, 0]),
        (onnx.BitShift("RIGHT"), [-16, 15], [2, 1], [-4, 7]),
        # If the amount is negative or at least the width (ONNX 28), only the sign is left.
        (onnx.BitShift("RIGHT"), [-1, 5], [8, -1], [-1, 0]),
        (onnx.BitShift("LEFT"), [-1, 5], [8, -1], [0, 0]),
    ],
)
def test_shifts(op: onnx.BitShift, x: list[int], amount: list[int], expected: list[int]) -> None:
    result = op.kernel()(np.array(x, np.int8), np.array(amount, np.int8))
    assert result.dtype == np.int8
    assert result.tolist() == expected


def test_results_are_boolean() -> None:
    builder = Builder(Graph("g"))
    left = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2, 1)))
    right = builder.parameter("y", TensorType(ElementType.F32, Shape.of(3)))
    expected = TensorType(ElementType.BOOLEAN, Shape.of(2, 3))
    assert builder(ov.Less(), left, right).type == expected
    assert builder(onnx.GreaterOrEqual(), left, right).type == expected


@pytest.mark.parametrize("op", [ov.LogicalAnd(), onnx.Or(), ov.BitwiseAnd(), onnx.BitwiseXor()])
def test_logical_and_bitwise_operations_refuse_floats(op: Any) -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2)))
    with pytest.raises(InferenceError):
        builder(op, x, x)
