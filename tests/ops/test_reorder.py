"""Reversing, rolling and triangles against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import reorder as onnx
from irloop.dialects.openvino import reorder as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Reverse ReverseSequence Roll"

BACKEND_OPS = "ReverseSequence Trilu"


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


def test_each_sequence_is_reversed_up_to_its_length() -> None:
    data = np.arange(8).reshape(2, 4)
    lengths = np.array([3, 0])
    run = ov.ReverseSequence(batch_axis=0, seq_axis=1).kernel()
    assert run(data, lengths).tolist() == [[2, 1, 0, 3], [4, 5, 6, 7]]
    assert run(data, lengths.astype(np.float32)).tolist() == [[2, 1, 0, 3], [4, 5, 6, 7]]
    turned = onnx.ReverseSequence(batch_axis=1, time_axis=0).kernel()(data.T, lengths)
    assert turned.T.tolist() == [[2, 1, 0, 3], [4, 5, 6, 7]]


def test_shifts_of_one_axis_add_up() -> None:
    data = np.arange(5)
    shifts, axes = np.array([1, 3]), np.array([0, 0])
    assert ov.Roll().kernel()(data, shifts, axes).tolist() == [1, 2, 3, 4, 0]
    square = np.arange(4).reshape(2, 2)
    both = ov.Roll().kernel()(square, np.array(1), np.array([0, 1]))
    assert both.tolist() == [[3, 2], [1, 0]]


def test_reverse_by_list_or_by_mask() -> None:
    data = np.arange(4).reshape(2, 2)
    by_list = ov.Reverse(mode="index").kernel()(data, np.array([-1]))
    by_mask = ov.Reverse(mode="mask").kernel()(data, np.array([False, True]))
    assert by_list.tolist() == by_mask.tolist() == [[1, 0], [3, 2]]


def test_triangles_of_a_batch() -> None:
    data = np.ones((2, 2, 3), np.float16)
    upper = onnx.Trilu().kernel()(data, np.array(1))
    assert upper.dtype == np.float16
    assert upper[1].tolist() == [[0, 1, 1], [0, 0, 1]]
    lower = onnx.Trilu(upper=False).kernel()(data)
    assert lower[0].tolist() == [[1, 0, 0], [1, 1, 0]]


def test_contradictions() -> None:
    lengths = TensorType(ElementType.I64, Shape.of(2))
    with pytest.raises(InferenceError, match="are the same"):
        inferred(ov.ReverseSequence(batch_axis=1, seq_axis=-2), f32(2, 3, 4), lengths)
    with pytest.raises(InferenceError, match="not the first two"):
        inferred(onnx.ReverseSequence(batch_axis=0, time_axis=2), f32(2, 3, 4), lengths)
    with pytest.raises(InferenceError, match="holds no matrices"):
        inferred(onnx.Trilu(), f32(2))
    assert inferred(onnx.Trilu(), ANY) == ["f32[...]"]
