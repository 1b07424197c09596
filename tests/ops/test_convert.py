"""Conversions of element types: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.kernels import convert as kernels

OPCONF_TYPES = """
    Convert ConvertLike ConvertPromoteTypes FakeConvert Identity
"""

BACKEND_OPS = """
    BitCast Cast CastLike Identity
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_floats_truncate() -> None:
    x = np.array([1.9, -1.9, 0.2], np.float32)
    assert ov.Convert(ElementType.I32).kernel()(x).tolist() == [1, -1, 0]
    assert ov.Convert(ElementType.BOOLEAN).kernel()(x).tolist() == [True, True, True]
    assert ov.Convert(ElementType.U1).kernel()(np.array([0.0, 0.5])).tolist() == [0, 1]


def test_integers_wrap() -> None:
    x = np.array([2**40 + 5, -1], np.int64)
    assert ov.Convert(ElementType.I32).kernel()(x).tolist() == [5, -1]
    assert ov.Convert(ElementType.U8).kernel()(x).tolist() == [5, 255]
    small = ov.Convert(ElementType.I4).kernel()(np.array([7, -8], np.int32))
    assert small.astype(int).tolist() == [7, -8]


def test_saturation_of_8_bit_floats() -> None:
    x = np.array([1000.0, -1e6, np.inf, np.nan], np.float32)
    kept = onnx.Cast6(ElementType.F8E4M3).kernel()(x).astype(np.float32)
    assert kept[:3].tolist() == [448.0, -448.0, 448.0]
    assert np.isnan(kept[3])
    lost = onnx.Cast6(ElementType.F8E4M3, saturate=False).kernel()(x).astype(np.float32)
    assert np.isnan(lost).all()
    infinite = ov.Convert(ElementType.F8E5M2).kernel()(x).astype(np.float32)
    assert infinite[:3].tolist() == [1024.0, -np.inf, np.inf]


@pytest.mark.parametrize(
    ("mode", "expected"), [("up", [4.0, 2.0]), ("down", [2.0, 2.0]), ("nearest", [4.0, 2.0])]
)
def test_round_modes_of_the_type_of_powers_of_two(mode: str, expected: list[float]) -> None:
    convert = kernels.cast(np.dtype(ml_dtypes.float8_e8m0fnu), saturate=True, round_mode=mode)
    assert convert(np.array([3.0, 2.0], np.float32)).astype(np.float32).tolist() == expected


def test_strings_convert_to_numbers_and_back() -> None:
    texts = np.array(["1.5", "-2", "NaN", "INF"], dtype=object)
    numbers = onnx.Cast6(ElementType.F32).kernel()(texts)
    assert numbers[:2].tolist() == [1.5, -2.0]
    assert np.isnan(numbers[2])
    assert numbers[3] == np.inf


def test_strings_become_booleans_as_in_onnxruntime() -> None:
    """ONNX Runtime 1.32 reads the integer at the start of the text and ignores the rest."""
    kernel = onnx.Cast6(ElementType.BOOLEAN).kernel()
    true = ["1", "-1", "+2", " 1", "1.5", "1e-3", "2abc", "18446744073709551615"]
    false = ["0", "00", "0.5", "-0.5", "0.9", "0x1", "0e5"]
    assert kernel(np.array([true, true], object)).tolist() == [[True] * len(true)] * 2
    assert not kernel(np.array(false, object)).any()
    for text in ("", "true", "abc", ".5", "NaN", "INF", "-", "18446744073709551616"):
        with pytest.raises(ValueError, match="cannot convert"):
            kernel(np.array([text], object))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (np.array([True, False]), ["1", "0"]),
        (np.array([7, -5], np.int16), ["7", "-5"]),
        (np.array([7, -5], ml_dtypes.int4), ["7", "-5"]),
        (np.array([1.5, 2, -0.0, 1 / 3], np.float32), ["1.5", "2", "-0", "0.33333334"]),
        (np.array([1e-7, 94012296, 1e20], np.float32), ["1e-07", "94012296", "1e+20"]),
        (np.array([np.inf, -np.inf, np.nan], np.float32), ["INF", "-INF", "NaN"]),
        (np.array([1 / 3, 1e20]), ["0.33333333", "1e+20"]),
        (np.array([0.1, 10.6328125], np.float16), ["0.099975586", "10.632812"]),
    ],
)
def test_numbers_become_the_strings_of_onnxruntime(
    numbers: np.ndarray[Any, np.dtype[Any]], expected: list[str]
) -> None:
    """ONNX does not say how many digits are written; ONNX Runtime 1.32 writes these strings."""
    back = onnx.Cast6(ElementType.STRING).kernel()(numbers)
    assert back.tolist() == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (ElementType.I32, ElementType.F16, ElementType.F16),
        (ElementType.U8, ElementType.I8, ElementType.I16),
        (ElementType.BOOLEAN, ElementType.U8, ElementType.U8),
        (ElementType.I64, ElementType.U32, ElementType.I64),
        (ElementType.F16, ElementType.BF16, ElementType.F32),
        (ElementType.U64, ElementType.I32, ElementType.F32),
    ],
)
def test_two_types_are_promoted_to_their_common_type(
    left: ElementType, right: ElementType, expected: ElementType
) -> None:
    builder = Builder(Graph("g"))
    values = [builder.parameter("x", TensorType(item, Shape.of(2))) for item in (left, right)]
    node = builder.emit(ov.ConvertPromoteTypes(promote_unsafe=True), *values)
    assert [item.type for item in node.outputs] == [TensorType(expected, Shape.of(2))] * 2
    arrays = [np.ones(2, item.numpy()) for item in (left, right)]
    assert all(item.dtype == expected.numpy() for item in node.op.kernel(2)(*arrays))


def test_unsafe_promotion_is_refused_by_default() -> None:
    builder = Builder(Graph("g"))
    values = [
        builder.parameter("x", TensorType(item, Shape.of(2)))
        for item in (ElementType.I64, ElementType.F16)
    ]
    with pytest.raises(InferenceError):
        builder.emit(ov.ConvertPromoteTypes(), *values)


def test_bit_cast_needs_equal_widths() -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.F32, Shape.of(2)))
    with pytest.raises(InferenceError):
        builder(onnx.BitCast(ElementType.I64), x)
    assert onnx.BitCast(ElementType.I32).kernel()(np.array([1.0], np.float32)).tolist() == [
        0x3F800000
    ]


def test_types_by_name_in_opset_1() -> None:
    assert onnx.Cast1("INT64").kernel()(np.array([2.7], np.float32)).tolist() == [2]
