"""Scatters: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irloop.dialects.onnx import scatter as onnx
from irloop.dialects.openvino import scatter as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "ScatterElementsUpdate ScatterNDUpdate ScatterUpdate"

BACKEND_OPS = "Scatter ScatterElements ScatterND"


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


AXIS = np.array(0)
TWICE = np.array([0, 2, 0])


def _elements(reduction: str, data: Any, updates: Any, *, keep: bool = True) -> list[Any]:
    run = ov.ScatterElementsUpdate12(reduction, use_init_val=keep).kernel()
    result: list[Any] = run(data, TWICE, updates, AXIS).tolist()
    return result


@pytest.mark.parametrize(
    ("reduction", "expected", "alone"),
    [
        ("sum", [16, 2, 8], [6, 2, 5]),
        ("prod", [80, 2, 15], [8, 2, 5]),
        ("min", [2, 2, 3], [2, 2, 5]),
        ("max", [10, 2, 5], [4, 2, 5]),
        ("mean", [5, 2, 4], [3, 2, 5]),
    ],
)
def test_duplicates_are_combined(reduction: str, expected: list[int], alone: list[int]) -> None:
    data, updates = np.array([10, 2, 3], np.int32), np.array([2, 5, 4], np.int32)
    assert _elements(reduction, data, updates) == expected
    assert _elements(reduction, data, updates, keep=False) == alone
    assert data.tolist() == [10, 2, 3]


def test_a_mean_of_integers_is_rounded_down() -> None:
    data, updates = np.array([0, 0, -1], np.int32), np.array([1, 0, 0], np.int32)
    assert _elements("mean", data, updates) == [0, 0, -1]
    assert _elements("mean", data.astype(np.float32), updates.astype(np.float32))[2] == -0.5


def test_booleans_combine_as_logic() -> None:
    data, updates = np.array([True, False, False]), np.array([True, True, False])
    assert _elements("sum", data, updates) == [True, False, True]
    assert _elements("prod", data, updates) == [False, False, False]


def test_16_bit_floats_and_wrapping_integers() -> None:
    data = np.zeros(3, ml_dtypes.bfloat16)
    run = onnx.ScatterElements16(reduction="add").kernel()
    found = run(data, TWICE, np.array([1, 2, 3], ml_dtypes.bfloat16))
    assert found.dtype == ml_dtypes.bfloat16
    assert found.astype(np.float32).tolist() == [4, 0, 2]
    full = run(np.full(3, 127, np.int8), TWICE, np.ones(3, np.int8))
    assert full.tolist() == [-127, 127, -128]


def test_negative_indices_count_from_the_end() -> None:
    data = np.zeros((2, 2), np.float32)
    run = onnx.ScatterElements(axis=1).kernel()
    assert run(data, np.array([[-1]]), np.array([[5.0]])).tolist() == [[0, 5], [0, 0]]
    rows = onnx.ScatterND().kernel()(data, np.array([[-1]]), np.array([[7.0, 8.0]]))
    assert rows.tolist() == [[0, 0], [7, 8]]


def test_empty_coordinates_address_the_whole_data() -> None:
    data = np.array([1, 2])
    run = onnx.ScatterND16(reduction="add").kernel()
    assert run(data, np.zeros((2, 0), np.int64), np.array([[10, 20], [1, 1]])).tolist() == [12, 23]


def test_subtraction_and_slices() -> None:
    run = ov.ScatterNDUpdate15(reduction="sub").kernel()
    assert run(np.array([5, 5]), np.array([[1], [1]]), np.array([1, 2])).tolist() == [5, 2]
    data = np.zeros((2, 3), np.int64)
    found = ov.ScatterUpdate().kernel()(
        data, np.array([2, 0]), np.array([[1, 2], [3, 4]]), np.array(1)
    )
    assert found.tolist() == [[2, 0, 1], [4, 0, 3]]


def test_contradictions() -> None:
    with pytest.raises(InferenceError, match="differ in shape"):
        inferred(onnx.ScatterElements(), f32(3), i64(2), f32(3))
    with pytest.raises(InferenceError, match="updates have the wrong shape"):
        inferred(onnx.ScatterND(), f32(3, 4), i64(2, 1), f32(2, 3))
    with pytest.raises(InferenceError, match="more coordinates than data axes"):
        inferred(onnx.ScatterND(), f32(3), i64(2, 2), f32(2))
    with pytest.raises(InferenceError, match="differ in element type"):
        inferred(onnx.ScatterElements(), f32(3), i64(1), i64(1))
    with pytest.raises(InferenceError, match="reduction is not known"):
        inferred(ov.ScatterNDUpdate15("mean"), f32(3), i64(1, 1), f32(1))
    assert inferred(onnx.ScatterND(), ANY, i64(None, None), ANY) == ["f32[...]"]
    assert inferred(ov.ScatterUpdate(), f32("N"), i64(1), f32(1), i64()) == ["f32[N]"]
