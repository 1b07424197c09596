"""Sorting, searching and accumulating against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import search as onnx
from irloop.dialects.openvino import search as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Bucketize CumSum NonZero SearchSorted TopK Unique"

BACKEND_OPS = "ArgMax ArgMin CumProd CumSum NonZero TopK Unique"


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


def test_of_equal_elements_the_first_is_better() -> None:
    data = np.array([1, 3, 3, 2, 3], np.int32)
    values, indices = onnx.TopK11().kernel(2)(data, np.array([4]))
    assert values.tolist() == [3, 3, 3, 2]
    assert indices.tolist() == [1, 2, 4, 3]
    least = onnx.TopK11(largest=False).kernel(2)(data, np.array([1]))
    assert [item.tolist() for item in least] == [[1], [0]]
    by_index = ov.TopK3(axis=0, mode="max", sort="index").kernel(2)(data, np.array(4))
    assert by_index[1].tolist() == [1, 2, 3, 4]
    assert by_index[1].dtype == np.int32


def test_16_bit_floats_are_sorted() -> None:
    data = np.array([1, 3, 2], ml_dtypes.bfloat16)
    values, _ = onnx.TopK11().kernel(2)(data, np.array([2]))
    assert values.dtype == ml_dtypes.bfloat16
    assert values.astype(np.float32).tolist() == [3, 2]


def test_the_first_or_the_last_extreme() -> None:
    data = np.array([[2, 5, 5], [7, 1, 7]])
    assert onnx.ArgMax(axis=1, keepdims=False).kernel()(data).tolist() == [1, 0]
    last = onnx.ArgMax12(axis=-1, select_last_index=True).kernel()
    assert last(data).tolist() == [[2], [2]]
    assert onnx.ArgMin12(axis=0, keepdims=False).kernel()(data).tolist() == [0, 1, 0]


def test_coordinates_of_a_scalar() -> None:
    one = np.array(5.0)
    assert onnx.NonZero().kernel()(one).shape == (0, 1)
    assert onnx.NonZero().kernel()(np.array(0.0)).shape == (0, 0)
    assert ov.NonZero().kernel()(one).tolist() == [[0]]


def test_running_results() -> None:
    data = np.array([1, 2, 3], np.int32)
    axis = np.array(0)
    assert onnx.CumSum().kernel()(data, axis).tolist() == [1, 3, 6]
    assert onnx.CumSum(exclusive=True).kernel()(data, axis).tolist() == [0, 1, 3]
    assert ov.CumSum(reverse=True).kernel()(data).tolist() == [6, 5, 3]
    assert onnx.CumProd(exclusive=True, reverse=True).kernel()(data, axis).tolist() == [6, 3, 1]
    wrapped = onnx.CumSum().kernel()(np.array([127, 1], np.int8), axis)
    assert wrapped.tolist() == [127, -128]


def test_each_bucket_includes_one_of_its_bounds() -> None:
    data, bounds = np.array([1.0, 2.0, 9.0]), np.array([1, 2, 3])
    assert ov.Bucketize(with_right_bound=True).kernel()(data, bounds).tolist() == [0, 1, 3]
    assert ov.Bucketize(with_right_bound=False).kernel()(data, bounds).tolist() == [1, 2, 3]
    assert ov.Bucketize().kernel()(data, np.zeros(0)).tolist() == [0, 0, 0]


def test_each_row_is_searched_on_its_own() -> None:
    table = np.array([[1, 3, 5], [2, 2, 2]])
    values = np.array([[3, 6], [2, 0]])
    assert ov.SearchSorted().kernel()(table, values).tolist() == [[1, 3], [0, 0]]
    assert ov.SearchSorted(right_mode=True).kernel()(table, values).tolist() == [[2, 3], [3, 0]]
    assert ov.SearchSorted().kernel()(table[0], values).tolist() == [[1, 3], [1, 0]]


def test_distinct_elements_and_their_order() -> None:
    data = np.array([3, 1, 3, 2])
    found = onnx.Unique(in_order=False).kernel(4)(data)
    assert [item.tolist() for item in found] == [[3, 1, 2], [0, 1, 3], [0, 1, 0, 2], [2, 1, 1]]
    assert onnx.Unique().kernel(1)(data).tolist() == [1, 2, 3]
    rows = ov.Unique().kernel(4)(np.array([[1, 1], [0, 0], [1, 1]]), np.array(0))
    assert rows[0].tolist() == [[0, 0], [1, 1]]
    assert rows[2].tolist() == [1, 0, 1]


def test_shapes_of_searches() -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32("N", 5))
    node = b.emit(onnx.TopK11(axis=1), x, b.i64([3]))
    assert [str(value.type) for value in node.outputs] == ["f32[N,3]", "i64[N,3]"]
    with pytest.raises(InferenceError, match="k is larger than the axis"):
        b.emit(onnx.TopK11(axis=1), x, b.i64([6]))
    assert inferred(ov.TopK(axis=1, mode="max", sort="none"), ANY, i64()) == [
        "f32[...]",
        "i32[...]",
    ]
    assert inferred(onnx.ArgMax(axis=1, keepdims=False), f32("N", 5)) == ["i64[N]"]
    assert inferred(onnx.NonZero(), f32(2, 3)) == ["i64[2,?]"]
    assert inferred(ov.NonZero(), f32()) == ["i64[1,?]"]
    assert inferred(onnx.Unique(axis=1), f32(2, 3), n_outputs=3)[0] == "f32[2,?]"
    with pytest.raises(InferenceError, match="mode is not known"):
        inferred(ov.TopK3(axis=0, mode="best", sort="value"), f32(3), i64())
