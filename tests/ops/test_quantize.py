"""Quantisation: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import quantize as onnx
from irloop.dialects.openvino import quantize as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType

OPCONF_TYPES = """
    FakeQuantize
"""

BACKEND_OPS = """
    ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul
    QuantizeLinear
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def f32(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


def test_equal_input_limits_make_a_step_function() -> None:
    quantize = ov.FakeQuantize(2).kernel()
    result = quantize(f32(0.0, 1.0, 2.0), f32(1.0), f32(1.0), f32(-5.0), f32(5.0))
    assert result.tolist() == [-5.0, -5.0, 5.0]


def test_fake_quantize_rounds_half_to_even() -> None:
    # 5 levels over [0, 4] are the integers 0 to 4; 0.5 and 2.5 are ties.
    quantize = ov.FakeQuantize(5).kernel()
    result = quantize(f32(-1, 0.5, 1.5, 2.5, 9), f32(0), f32(4), f32(0), f32(8))
    assert result.tolist() == [0.0, 0.0, 4.0, 4.0, 8.0]


def test_quantize_rounds_half_to_even_and_saturates() -> None:
    zero = np.array(10, np.int8)
    result = onnx.QuantizeLinear10().kernel()(f32(1, 3, 5, 1000, -1000), f32(2)[0], zero)
    assert result.dtype == np.int8
    assert result.tolist() == [10, 12, 12, 127, -128]


@pytest.mark.parametrize(("type", "lowest"), [(np.int8, -128), (np.uint8, 0), (np.int16, -32768)])
def test_the_code_of_nan_is_the_lowest(type: Any, lowest: int) -> None:
    """Measured with ONNX Runtime and OpenVINO on x86; the standard does not define it."""
    result = onnx.QuantizeLinear13().kernel()(f32(np.nan, 1), f32(0.5)[0], np.array(3, type))
    assert result.tolist() == [lowest, 5]


def test_blocks_share_a_scale() -> None:
    x = np.array([[1, 2, 3, 4, 5]], np.int8)
    result = onnx.DequantizeLinear13(axis=1, block_size=2).kernel()(
        x, np.array([[1, 10, 100]], np.float32)
    )
    assert result.tolist() == [[1, 2, 30, 40, 500]]


def test_quantised_values_saturate_at_4_bits() -> None:
    quantize = onnx.QuantizeLinear13(output_dtype=ElementType.I4).kernel()
    result = quantize(f32(-20, -1.5, 20), f32(1)[0])
    assert result.dtype == ml_dtypes.int4
    assert result.astype(int).tolist() == [-8, -2, 7]


def test_each_row_has_its_own_zero_point() -> None:
    left = np.array([[3, 4], [5, 6]], np.uint8)
    right = np.array([[1], [1]], np.uint8)
    result = onnx.MatMulInteger().kernel()(left, right, np.array([3, 5], np.uint8), None)
    assert result.dtype == np.int32
    assert result.tolist() == [[1], [1]]


def test_range_of_zeros_has_scale_one() -> None:
    """ONNX Runtime returns 1; by the standard's formula it is 0, and the reference returns 1 /
    255.
    """
    codes, scale, zero = onnx.DynamicQuantizeLinear().kernel(3)(f32(0, 0))
    assert (codes.tolist(), float(scale), int(zero)) == ([0, 0], 1.0, 0)


@pytest.mark.parametrize(
    ("op", "data", "scale"),
    [
        (onnx.QuantizeLinear13(axis=1), (2, 3), (2,)),
        (onnx.DequantizeLinear13(axis=2), (2, 3), (2,)),
        (onnx.QuantizeLinear13(axis=1, block_size=2), (2, 4), (2,)),
    ],
)
def test_contradictions(op: Any, data: tuple[int, ...], scale: tuple[int, ...]) -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(*data)))
    factor = builder.parameter("s", TensorType(ElementType.F32, Shape.of(*scale)))
    with pytest.raises(InferenceError):
        builder(op, x, factor)


def test_too_few_levels() -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2)))
    with pytest.raises(InferenceError):
        builder(ov.FakeQuantize(1), x, x, x, x, x)
