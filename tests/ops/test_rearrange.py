"""Blocks of space, depth and batch against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import rearrange as onnx
from irloop.dialects.openvino import rearrange as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = """
    BatchToSpace Col2Im DepthToSpace ExtractImagePatches ReorgYolo ShuffleChannels SpaceToBatch
    SpaceToDepth
"""

BACKEND_OPS = "Col2Im DepthToSpace SpaceToDepth"


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


def test_depth_and_space_are_inverse() -> None:
    data = np.arange(2 * 8 * 3 * 2 * 1).reshape(2, 8, 3, 2, 1)
    for mode in ("blocks_first", "depth_first"):
        wide = ov.DepthToSpace(mode, 2).kernel()(data)
        assert wide.shape == (2, 1, 6, 4, 2)
        np.testing.assert_array_equal(ov.SpaceToDepth(mode, 2).kernel()(wide), data)


def test_the_slower_index_of_the_channels() -> None:
    # Channels are 2 blocks by 2 depths, with one row; with blocks first, 0 and 2 are neighbours.
    data = np.arange(4).reshape(1, 4, 1)
    assert ov.DepthToSpace("blocks_first", 2).kernel()(data).tolist() == [[[0, 2], [1, 3]]]
    assert ov.DepthToSpace("depth_first", 2).kernel()(data).tolist() == [[[0, 1], [2, 3]]]
    crd = onnx.DepthToSpace11(2, "CRD").kernel()(np.arange(4).reshape(1, 4, 1, 1))
    assert crd.tolist() == [[[[0, 1], [2, 3]]]]


def test_batch_and_space_are_inverse() -> None:
    data = np.arange(12).reshape(1, 1, 3, 4)
    block, begins, ends = np.array([1, 1, 2, 2]), np.array([0, 0, 1, 0]), np.array([0, 0, 0, 2])
    packed = ov.SpaceToBatch().kernel()(data, block, begins, ends)
    assert packed.shape == (4, 1, 2, 3)
    np.testing.assert_array_equal(ov.BatchToSpace().kernel()(packed, block, begins, ends), data)


def test_channels_are_interleaved() -> None:
    data = np.arange(6).reshape(1, 6)
    assert ov.ShuffleChannels(group=2).kernel()(data).tolist() == [[0, 3, 1, 4, 2, 5]]
    assert ov.ShuffleChannels(axis=-1, group=3).kernel()(data).tolist() == [[0, 2, 4, 1, 3, 5]]


def test_patches_are_ordered_by_row_column_and_channel() -> None:
    data = np.arange(18).reshape(1, 2, 3, 3)
    op = ov.ExtractImagePatches((2, 2), (1, 1), (1, 1), "valid")
    found = op.kernel()(data)
    assert found.shape == (1, 8, 2, 2)
    assert found[0, :, 0, 0].tolist() == [0, 9, 1, 10, 3, 12, 4, 13]
    same = ov.ExtractImagePatches((2, 2), (2, 2), (1, 1), "same_lower").kernel()(data)
    assert same[0, :, 0, 0].tolist() == [0, 0, 0, 0, 0, 0, 0, 9]


def test_columns_add_up_where_blocks_overlap() -> None:
    columns = np.ones((1, 2, 2), np.float32)
    run = onnx.Col2Im().kernel()
    assert run(columns, np.array([3]), np.array([2])).tolist() == [[[1, 2, 1]]]
    padded = onnx.Col2Im(pads=(1, 0)).kernel()
    assert padded(columns, np.array([2]), np.array([2])).tolist() == [[[2, 1]]]
    spread = onnx.Col2Im(strides=(2,)).kernel()
    assert spread(columns, np.array([4]), np.array([2])).tolist() == [[[1, 1, 1, 1]]]


def test_shapes() -> None:
    assert inferred(ov.DepthToSpace("depth_first", 2), f32("N", 8, 2, None)) == ["f32[N,2,4,?]"]
    assert inferred(onnx.SpaceToDepth(2), f32(1, 3, 4, 6)) == ["f32[1,12,2,3]"]
    assert inferred(ov.ReorgYolo((2,)), f32(1, 4, 6, 6)) == ["f32[1,16,3,3]"]
    assert inferred(onnx.DepthToSpace(2), ANY) == ["f32[...]"]
    same = ov.ExtractImagePatches((3, 3), (2, 2), (1, 1), "same_upper")
    assert inferred(same, f32(1, 2, 5, None)) == ["f32[1,18,3,?]"]
    b = Builder(Graph())
    x = b.parameter("x", f32("N", 1, 3, 4))
    lists = [b.i64(item) for item in ([1, 1, 2, 2], [0, 0, 1, 0], [0, 0, 0, 2])]
    assert str(b(ov.SpaceToBatch(), x, *lists).type) == "f32[?,1,2,3]"
    assert (
        str(b(ov.BatchToSpace(), b.parameter("y", f32(4, 1, 2, 3)), *lists).type) == "f32[1,1,3,4]"
    )
    columns = b.parameter("z", f32(1, 12, 4))
    assert str(b(onnx.Col2Im(), columns, b.i64([5, 5]), b.i64([2, 2])).type) == "f32[1,3,5,5]"
    with pytest.raises(InferenceError, match="the channels cannot be divided"):
        inferred(onnx.DepthToSpace(2), f32(1, 3, 2, 2))
    with pytest.raises(InferenceError, match="a spatial axis cannot be divided"):
        inferred(onnx.SpaceToDepth(2), f32(1, 3, 3, 2))
    with pytest.raises(InferenceError, match="input 0 has the wrong rank"):
        inferred(onnx.SpaceToDepth(2), f32(1, 3))
