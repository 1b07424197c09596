"""Elementwise arithmetic: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import elementwise as onnx
from irloop.dialects.onnx import legacy
from irloop.dialects.openvino import elementwise as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Value
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType
from irloop.kernels import elementwise as kernels

OPCONF_TYPES = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Ceiling Cos Cosh Divide Erf ErfInv Exp Floor FloorMod
    Log Maximum Minimum Mod Multiply Negative Power Round Sign Sin Sinh Sqrt SquaredDifference
    Subtract Tan Tanh
"""

BACKEND_OPS = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Erf Exp Floor Log Max Mean Min Mod
    Mul Neg Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Sum Tan Tanh
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    if opconf_case.name == "i32_pythondiv_true":
        pytest.skip("recorded from OpenVINO's core, which the CPU plugins contradict (OVN116)")
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def value(builder: Builder, element: ElementType, *dims: int | DynamicDim | None) -> Value:
    return builder.parameter("x", TensorType(element, Shape.of(*dims)))


@pytest.fixture
def builder() -> Builder:
    return Builder(Graph("g"))


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        (ov.Divide(m_pythondiv=True), [7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3]),
        (ov.Divide(m_pythondiv=False), [7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3]),
        (onnx.Div(), [7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3]),
        (ov.Mod(), [7, -7, 7, -7], [3, 3, -3, -3], [1, -1, 1, -1]),
        (ov.FloorMod(), [7, -7, 7, -7], [3, 3, -3, -3], [1, 2, -2, -1]),
        (onnx.Mod(), [7, -7, 7, -7], [3, 3, -3, -3], [1, 2, -2, -1]),
        (onnx.Mod(fmod=True), [7, -7, 7, -7], [3, 3, -3, -3], [1, -1, 1, -1]),
        (ov.Power(), [2, -2, 3, 2], [3, 3, 0, -1], [8, -8, 1, 0]),
        (ov.SquaredDifference(), [1, -2], [4, 2], [9, 16]),
    ],
)
def test_integers(op: Any, left: list[int], right: list[int], expected: list[int]) -> None:
    result = op.kernel()(np.array(left, np.int32), np.array(right, np.int32))
    assert result.dtype == np.int32
    assert result.tolist() == expected


def test_integers_wrap() -> None:
    assert kernels.add(np.array([127], np.int8), np.array([1], np.int8)).tolist() == [-128]
    assert kernels.multiply(np.array([200], np.uint8), np.array([2], np.uint8)).tolist() == [144]


def test_integer_square_root_is_rounded() -> None:
    # sqrt(33) = 5.74, sqrt(30) = 5.48, sqrt(2) = 1.41
    assert kernels.sqrt(np.array([33, 30, 2], np.int32)).tolist() == [6, 5, 1]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("half_to_even", [0.0, 2.0, 2.0, -2.0, 0.0]),
        ("half_away_from_zero", [1.0, 2.0, 3.0, -3.0, 0.0]),
    ],
)
def test_round(mode: str, expected: list[float]) -> None:
    x = np.array([0.5, 1.5, 2.5, -2.5, 0.49999997], np.float32)
    assert ov.Round(mode).kernel()(x).tolist() == expected


def test_there_are_no_warnings() -> None:
    x = np.array([-1000.0, 0.0, 1000.0, np.inf], np.float32)
    assert kernels.exp(x).tolist() == [0.0, 1.0, np.inf, np.inf]
    assert np.isnan(kernels.log(x)[0])
    assert kernels.divide(x, np.zeros_like(x))[2] == np.inf
    assert np.isnan(kernels.power(x, np.full_like(x, 0.5))[0])


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_element_types_are_kept(dtype: Any) -> None:
    x = np.array([0.25, 0.5], dtype)
    for name in ("acos", "asinh", "erf", "exp", "floor", "reciprocal", "sign", "sqrt", "tanh"):
        assert getattr(kernels, name)(x).dtype == x.dtype
    assert kernels.mean(x, x, x).dtype == x.dtype


def test_error_function() -> None:
    # Abramowitz and Stegun, table 7.1
    x = np.array([0.0, 0.5, 1.0, 2.0, -1.0])
    expected = [0.0, 0.5204998778, 0.8427007929, 0.9953222650, -0.8427007929]
    np.testing.assert_allclose(kernels.erf(x), expected, atol=5e-11)
    np.testing.assert_allclose(kernels.erf_inverse(kernels.erf(x)), x, atol=1e-12)


def test_paddle_broadcasting_aligns_at_the_axis() -> None:
    left = np.zeros((2, 3, 4), np.float32)
    right = np.array([1, 2, 3], np.float32)
    result = ov.Add("pdpd", 1).kernel()(left, right)
    assert result[1, :, 3].tolist() == [1, 2, 3]
    assert ov.Add("pdpd", 0).kernel()(left, np.array([5, 6], np.float32))[1, 2, 3] == 6


def test_broadcasting_before_opset_7() -> None:
    left = np.zeros((2, 3, 4), np.float32)
    at_axis = legacy.Add1(axis=1, broadcast=True).kernel()(left, np.array([1, 2, 3], np.float32))
    assert at_axis[0, :, 0].tolist() == [1, 2, 3]
    at_end = legacy.Sub1(broadcast=True).kernel()(left, np.array([1, 2, 3, 4], np.float32))
    assert at_end[1, 2].tolist() == [-1, -2, -3, -4]


def test_inferred_shapes(builder: Builder) -> None:
    named = DynamicDim(symbol="n")
    left = value(builder, ElementType.F32, named, 1, 4)
    right = value(builder, ElementType.F32, 3, 1)
    assert builder(ov.Add(), left, right).type == TensorType(ElementType.F32, Shape.of(named, 3, 4))
    unknown = builder.parameter("u", TensorType(ElementType.F32, UNKNOWN_SHAPE))
    assert builder(ov.Add(), left, unknown).type == unknown.type
    pdpd = builder(
        ov.Add("pdpd", 0), value(builder, ElementType.F32, 2, 3), value(builder, ElementType.F32, 2)
    )
    assert pdpd.type == TensorType(ElementType.F32, Shape.of(2, 3))


def test_partly_known_shape_arithmetic(builder: Builder) -> None:
    x = value(builder, ElementType.I64, 2)
    builder.inference._dims[x] = (DynamicDim(), 6)
    doubled = builder(ov.Multiply(), x, builder.i64([2]))
    dims = builder.inference.dims(doubled)
    assert dims is not None
    assert dims[1] == 12
    assert isinstance(dims[0], DynamicDim)


@pytest.mark.parametrize(
    ("op", "left", "right"),
    [
        (ov.Add(), (ElementType.F32, 2), (ElementType.F32, 3)),
        (ov.Add(), (ElementType.F32, 2), (ElementType.I32, 2)),
        (ov.Add(), (ElementType.BOOLEAN, 2), (ElementType.BOOLEAN, 2)),
        (ov.Add("none"), (ElementType.F32, 2), (ElementType.F32, 1)),
        (ov.Add("sideways"), (ElementType.F32, 2), (ElementType.F32, 2)),
        (ov.Add("pdpd", 1), (ElementType.F32, 2), (ElementType.F32, 2)),
        (onnx.Mul(), (ElementType.F32, 4), (ElementType.F32, 3)),
        (legacy.Add1(), (ElementType.F32, 4), (ElementType.F32, 1)),
    ],
)
def test_contradictions(builder: Builder, op: Any, left: Any, right: Any) -> None:
    with pytest.raises(InferenceError):
        builder(op, value(builder, *left), value(builder, *right))


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_extremes_of_4_bit_integers_are_4_bit_integers(dtype: type) -> None:
    left: Any = np.array([1, 2, 3]).astype(dtype)
    right: Any = np.array([3, 2, 1]).astype(dtype)
    larger, smaller = kernels.maximum(left, right), kernels.minimum(left, right)
    assert (larger.dtype, smaller.dtype) == (dtype, dtype)
    assert (larger.tolist(), smaller.tolist()) == ([3, 2, 3], [1, 2, 1])
