"""Ranges, fills, one-hot codes and windows against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import gather as onnx_gather
from irloop.dialects.onnx import generate as onnx
from irloop.dialects.onnx import shape as onnx_shape
from irloop.dialects.openvino import generate as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Eye OneHot Range"

BACKEND_OPS = """
    BlackmanWindow ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix OneHot Range
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def inferred(op: Op, *types: TensorType, n_outputs: int | None = None) -> list[str]:
    """The types of the outputs for inputs of these types."""
    b = Builder(Graph())
    inputs = [b.parameter(f"in{index}", type) for index, type in enumerate(types)]
    node = b.emit(op, *inputs, n_outputs=n_outputs)
    return [str(value.type) for value in node.outputs]


def f32(*dims: int | str | None) -> TensorType:
    """An f32 type; a text names a dimension, and None is an unknown one."""
    sizes = [DynamicDim(symbol=dim) if isinstance(dim, str) else dim for dim in dims]
    return TensorType(ElementType.F32, Shape.of(*sizes))


ANY = TensorType(ElementType.F32, UNKNOWN_SHAPE)


def i64(*dims: int | None) -> TensorType:
    return TensorType(ElementType.I64, Shape.of(*dims))


def scalar(number: float, dtype: type = np.float32) -> np.ndarray[tuple[()], np.dtype[np.float32]]:
    return np.array(number, dtype)


def test_ranges() -> None:
    run = onnx.Range().kernel()
    assert run(scalar(5), scalar(0), scalar(-2)).tolist() == [5, 3, 1]
    assert run(scalar(0), scalar(5), scalar(-1)).tolist() == []
    assert run(*(np.array(n, np.int64) for n in (0, 7, 3))).tolist() == [0, 3, 6]
    # The bounds are converted to integers before the length is computed.
    cut = ov.Range4(ElementType.I32).kernel()(scalar(0.9), scalar(3.9), scalar(1.9))
    assert cut.tolist() == [0, 1, 2]
    assert cut.dtype == np.int32


def test_half_floats_are_computed_in_f32() -> None:
    bounds = (np.array(n, ml_dtypes.bfloat16) for n in (0, 4, 1))
    found = onnx.Range27().kernel()(*bounds)
    assert found.dtype == ml_dtypes.bfloat16
    assert found.astype(np.float32).tolist() == [0, 1, 2, 3]


def test_the_length_of_a_range() -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32("N", 3))
    size = b(onnx_gather.Gather(0), b(onnx_shape.Shape1(), x), b.i64(0))
    assert str(b(onnx.Range(), b.i64(0), size, b.i64(1)).type) == "i64[N]"
    assert str(b(onnx.Range(), b.i64(1), size, b.i64(1)).type) == "i64[?]"
    assert str(b(onnx.Range(), b.i64(9), b.i64(0), b.i64(-4)).type) == "i64[3]"
    with pytest.raises(InferenceError, match="the step is 0"):
        b(onnx.Range(), b.i64(0), size, b.i64(0))
    with pytest.raises(InferenceError, match="is not a scalar"):
        inferred(ov.Range4(ElementType.F32), f32(2), f32(), f32())


def test_a_tensor_is_filled_with_one_number() -> None:
    two = ArrayTensor(np.array([2], np.int8))
    found = onnx.ConstantOfShape(two).kernel()(np.array([2, 1]))
    assert found.tolist() == [[2], [2]]
    assert found.dtype == np.int8
    zero = onnx.ConstantOfShape().kernel()(np.zeros(0, np.int64))
    assert zero.shape == ()
    assert zero.dtype == np.float32


def test_one_hot_has_the_off_value_for_indices_out_of_range() -> None:
    indices = np.array([0, -1, 3])
    values = (np.array(3), np.array(9, np.int32), np.array(1, np.int32))
    plain = ov.OneHot(axis=0).kernel()(indices, *values)
    assert plain.tolist() == [[9, 1, 1], [1, 1, 1], [1, 1, 1]]
    assert plain.dtype == np.int32
    wrapped = ov.OneHot16(axis=-1, negative_indices_mode="normalize").kernel()(indices, *values)
    assert wrapped.tolist() == [[9, 1, 1], [1, 1, 9], [1, 1, 1]]
    assert (
        onnx.OneHot().kernel()(indices, np.array([3]), np.array([1, 9])).tolist()
        == wrapped.tolist()
    )


def test_diagonals() -> None:
    run = ov.Eye(ElementType.I8).kernel()
    found = run(np.array(2), np.array(3), np.array(-1), np.array([2]))
    assert found.tolist() == [[[0, 0, 0], [1, 0, 0]]] * 2
    like = onnx.EyeLike(k=1).kernel()(np.zeros((2, 2), np.float16))
    assert like.tolist() == [[0, 1], [0, 0]]
    assert like.dtype == np.float16


def test_windows_start_where_they_should() -> None:
    size = np.array(4)
    hann = onnx.HannWindow().kernel()(size)
    np.testing.assert_allclose(hann, [0, 0.5, 1, 0.5], atol=1e-7)
    symmetric = onnx.HannWindow(periodic=False).kernel()(size)
    np.testing.assert_allclose(symmetric, [0, 0.75, 0.75, 0], atol=1e-7)
    hamming = onnx.HammingWindow(ElementType.F64).kernel()(size)
    np.testing.assert_allclose(hamming[0], 4 / 46)
    assert onnx.BlackmanWindow().kernel()(np.array(1)).tolist() == pytest.approx([0.0], abs=1e-7)


def test_shapes_of_codes() -> None:
    b = Builder(Graph())
    x = b.parameter("x", i64(2, 3))
    hot = b(ov.OneHot(axis=1), x, b.i64(5), b.i64(1), b.i64(0))
    assert str(hot.type) == "i64[2,5,3]"
    assert inferred(onnx.OneHot(), i64(2), i64(), f32(2)) == ["f32[2,?]"]
    assert inferred(onnx.EyeLike(dtype=ElementType.I32), ANY) == ["i32[?,?]"]
    assert inferred(onnx.ConstantOfShape(), i64(2)) == ["f32[?,?]"]
    with pytest.raises(InferenceError, match="axis is out of range"):
        b(ov.OneHot(axis=3), x, b.i64(5), b.i64(1), b.i64(0))
    with pytest.raises(InferenceError, match="not a matrix"):
        inferred(onnx.EyeLike(), f32(2))
