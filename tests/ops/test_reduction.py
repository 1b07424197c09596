"""Reductions: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import reduction as onnx
from irloop.dialects.openvino import reduction as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Value
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = """
    ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum
"""

BACKEND_OPS = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


NONE = np.zeros(0, np.int64)


def test_empty_axes_reduce_nothing_in_openvino_and_all_in_onnx() -> None:
    x = np.array([-1.0, 2.0], np.float32)
    assert ov.ReduceSum().kernel()(x, NONE).tolist() == [-1.0, 2.0]
    assert ov.ReduceL1().kernel()(x, NONE).tolist() == [1.0, 2.0]
    assert onnx.ReduceSum13(keepdims=False).kernel()(x, NONE).tolist() == 1.0
    kept = onnx.ReduceSum13(noop_with_empty_axes=True).kernel()
    assert kept(x, NONE).tolist() == kept(x).tolist() == [-1.0, 2.0]
    assert onnx.ReduceSumSquare18(noop_with_empty_axes=True).kernel()(x).tolist() == [1.0, 4.0]
    assert onnx.ReduceSum1(axes=(), keepdims=False).kernel()(x).tolist() == 1.0


def test_duplicate_axes_count_once() -> None:
    x = np.ones((2, 3), np.float32)
    assert ov.ReduceSum().kernel()(x, np.array([1, -1])).tolist() == [3.0, 3.0]
    assert ov.ReduceSum(keep_dims=True).kernel()(x, np.array(0)).tolist() == [[2.0, 2.0, 2.0]]


def test_mean_of_integers_is_truncated() -> None:
    x = np.array([-3, -4], np.int32)
    assert ov.ReduceMean().kernel()(x, np.array([0])).tolist() == -3
    assert onnx.ReduceMean1(keepdims=False).kernel()(x).tolist() == -3


def test_integers_wrap() -> None:
    x = np.array([100, 100], np.int8)
    assert ov.ReduceSum().kernel()(x, np.array([0])).tolist() == -56


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bit_floats_are_summed_in_f32(dtype: Any) -> None:
    # 4096 ones: in f16 a sum beyond 2048, and in bf16 one beyond 256, would not grow by 1.
    x = np.ones(4096, dtype)
    result = ov.ReduceSum().kernel()(x, np.array([0]))
    assert np.asarray(result).dtype == dtype
    assert float(result) == 4096.0


def test_reductions_of_empty_tensors() -> None:
    x = np.zeros((0, 2), np.float32)
    assert ov.ReduceMax().kernel()(x, np.array([0])).tolist() == [-np.inf, -np.inf]
    assert ov.ReduceMin().kernel()(x, np.array([0])).tolist() == [np.inf, np.inf]
    assert ov.ReduceProd().kernel()(x, np.array([0])).tolist() == [1.0, 1.0]


def test_logarithm_of_the_sum_of_exponentials_does_not_overflow() -> None:
    x = np.array([1000.0, 1000.0], np.float32)
    result = onnx.ReduceLogSumExp1(keepdims=False).kernel()(x)
    np.testing.assert_allclose(result, 1000.0 + np.log(2.0), rtol=1e-6)
    infinite = np.array([-np.inf, -np.inf], np.float32)
    assert onnx.ReduceLogSumExp1(keepdims=False).kernel()(infinite) == -np.inf


def data(builder: Builder, *dims: int | DynamicDim | None) -> Value:
    return builder.parameter("x", TensorType(ElementType.F32, Shape.of(*dims)))


def test_inferred_shapes() -> None:
    builder = Builder(Graph("g"))
    x = data(builder, 2, None, 4)
    assert builder(ov.ReduceSum(), x, builder.i64([-1])).type == TensorType(
        ElementType.F32, Shape.of(2, None)
    )
    assert builder(ov.ReduceSum(keep_dims=True), x, builder.i64([1])).type == TensorType(
        ElementType.F32, Shape.of(2, 1, 4)
    )
    computed = builder.parameter("axes", TensorType(ElementType.I64, Shape.of(1)))
    assert builder(onnx.ReduceSum13(), x, computed).type == TensorType(
        ElementType.F32, Shape.of_rank(3)
    )
    assert builder(onnx.ReduceSum13(keepdims=False), x, computed).type == TensorType(
        ElementType.F32, Shape.of_rank(2)
    )
    assert builder(onnx.ReduceSum13(keepdims=False), x).type == TensorType(
        ElementType.F32, Shape(())
    )
    unknown = builder.parameter("u", TensorType(ElementType.F32, UNKNOWN_SHAPE))
    assert builder(onnx.ReduceMax1(axes=(0,)), unknown).type == unknown.type


def test_product_of_a_shape() -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(ElementType.I64, Shape.of(2)))
    builder.inference._dims[x] = (3, 5)
    product = builder(ov.ReduceProd(keep_dims=True), x, builder.i64([0]))
    assert builder.inference.dims(product) == (15,)


@pytest.mark.parametrize(
    ("op", "axes"), [(ov.ReduceSum(), [2]), (ov.ReduceMean(), [-3]), (onnx.ReduceSum13(), [2])]
)
def test_axes_must_exist(op: Any, axes: list[int]) -> None:
    builder = Builder(Graph("g"))
    with pytest.raises(InferenceError):
        builder(op, data(builder, 2, 3), builder.i64(axes))


def test_axes_are_integers() -> None:
    builder = Builder(Graph("g"))
    x = data(builder, 2)
    with pytest.raises(InferenceError):
        builder(ov.ReduceSum(), x, x)


@pytest.mark.parametrize("type", [ml_dtypes.int4, ml_dtypes.uint4])
def test_extremes_of_4_bits_keep_their_type(type: Any) -> None:
    data = np.array([[1, 7], [3, 2]], type)
    for kind, wanted in ((ov.ReduceMax, [7, 3]), (ov.ReduceMin, [1, 2])):
        found = kind().kernel()(data, np.array([1], np.int64))
        assert found.dtype == type
        np.testing.assert_array_equal(found.astype(np.int64), wanted)
        whole = kind().kernel()(data, np.array([0, 1], np.int64))
        assert whole.dtype == type
