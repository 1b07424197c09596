"""Embedding bags and segments against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.openvino import embedding as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = """
    EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum
    EmbeddingSegmentsSum SegmentMax SparseFillEmptyRows
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


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


TABLE = np.array([[1, 2], [10, 20], [100, 200]], np.float32)


def test_empty_bags_are_zero_or_the_default_row() -> None:
    indices, offsets = np.array([0, 2, 1]), np.array([0, 2, 2])
    run = ov.EmbeddingBagOffsetsSum().kernel()
    assert run(TABLE, indices, offsets).tolist() == [[101, 202], [0, 0], [10, 20]]
    filled = run(TABLE, indices, offsets, np.array(1))
    assert filled.tolist() == [[101, 202], [10, 20], [10, 20]]
    assert run(TABLE, indices, offsets, np.array(-1)).tolist()[1] == [0, 0]


def test_weights_and_means() -> None:
    indices, weights = np.array([[0, 1], [2, 2]]), np.array([[2, 1], [0.5, 0]], np.float32)
    packed = ov.EmbeddingBagPackedSum().kernel()(TABLE, indices, weights)
    assert packed.tolist() == [[12, 24], [50, 100]]
    mean = ov.EmbeddingBagPacked("mean").kernel()(TABLE, indices)
    assert mean.tolist() == [[5.5, 11], [100, 200]]
    bags = ov.EmbeddingBagOffsets("mean").kernel()(TABLE, np.array([0, 1]), np.array([0]))
    assert bags.tolist() == [[5.5, 11]]


def test_segments() -> None:
    indices, segments = np.array([0, 1, 2]), np.array([0, 0, 2])
    run = ov.EmbeddingSegmentsSum().kernel()
    assert run(TABLE, indices, segments, np.array(3)).tolist() == [[11, 22], [0, 0], [100, 200]]
    # A segment past the last one is omitted.
    assert run(TABLE, indices, segments, np.array(1)).tolist() == [[11, 22]]


def test_empty_segments_are_zero_or_the_lowest_number() -> None:
    data, segments = np.array([-5.0, -7.0], np.float32), np.array([0, 2])
    assert ov.SegmentMax("ZERO").kernel()(data, segments).tolist() == [-5, 0, -7]
    lowest = ov.SegmentMax("LOWEST").kernel()(data, segments)
    assert lowest[1] == np.finfo(np.float32).min
    integers = ov.SegmentMax("lowest").kernel()(np.array([3], np.int8), np.array([1]))
    assert integers.tolist() == [-128, 3]


def test_each_empty_row_gets_one_entry() -> None:
    values, indices = np.array([7.0, 8.0], np.float32), np.array([[0, 3], [2, 1]])
    run = ov.SparseFillEmptyRows().kernel(3)
    where, filled, empty = run(values, np.array([3, 4]), indices, np.array(-1, np.float32))
    assert where.tolist() == [[0, 3], [1, 0], [2, 1]]
    assert filled.tolist() == [7, -1, 8]
    assert empty.tolist() == [False, True, False]


def test_shapes() -> None:
    assert inferred(ov.EmbeddingBagOffsetsSum(), f32(5, 2, 3), i64(4), i64(2)) == ["f32[2,2,3]"]
    assert inferred(ov.EmbeddingBagPacked(), f32(5, 2), i64(None, 2)) == ["f32[?,2]"]
    assert inferred(ov.EmbeddingSegmentsSum(), ANY, i64(4), i64(4), i64()) == ["f32[...]"]
    filled = inferred(ov.SparseFillEmptyRows(), f32(3), i64(2), i64(3, 2), f32())
    assert filled == ["i64[?,2]", "f32[?]", "boolean[?]"]
    with pytest.raises(InferenceError, match="'indices' has a wrong rank"):
        inferred(ov.EmbeddingBagPackedSum(), f32(5, 2), i64(4))
    with pytest.raises(InferenceError, match="reduction is not known"):
        inferred(ov.EmbeddingBagPacked("max"), f32(5, 2), i64(4, 2))
