"""Shapes: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import gather as onnx_gather
from irloop.dialects.onnx import shape as onnx
from irloop.dialects.onnx import slicing as onnx_slicing
from irloop.dialects.openvino import shape as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Broadcast Reshape ShapeOf Squeeze Tile Transpose Unsqueeze"

BACKEND_OPS = "Expand Flatten Reshape Shape Size Squeeze Tile Transpose Unsqueeze"


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


I64 = np.int64


def test_zero_copies_a_dimension_or_is_a_size() -> None:
    x = np.zeros((2, 3, 4), np.float32)
    copying = ov.Reshape(special_zero=True).kernel()
    assert copying(x, np.array([0, -1], I64)).shape == (2, 12)
    assert copying(x, np.array([6, 1, 0], I64)).shape == (6, 1, 4)
    empty = np.zeros((0, 3), np.float32)
    # Both shapes contain the copied dimension, so -1 becomes 3 although there are no elements.
    assert copying(empty, np.array([0, -1], I64)).shape == (0, 3)
    assert ov.Reshape().kernel()(empty, np.array([3, 0], I64)).shape == (3, 0)
    assert onnx.Reshape14(allowzero=True).kernel()(empty, np.array([5, 0], I64)).shape == (5, 0)


@pytest.mark.parametrize(
    ("shape", "pattern", "expected"),
    [((0, 3), [0, -1], (0, 0)), ((2, 0), [-1, 0], (0, 0)), ((0, 3), [0, -1, 5], (0, 0, 5))],
)
def test_reshape_infers_0_beside_a_0_that_does_not_copy(
    shape: tuple[int, ...], pattern: list[int], expected: tuple[int, ...]
) -> None:
    """This was measured in OpenVINO 2026.4 with the pattern as a model input."""
    found = ov.Reshape().kernel()(np.zeros(shape, np.float32), np.array(pattern))
    assert found.shape == expected


def test_squeeze_of_an_axis_of_another_size() -> None:
    x = np.zeros((1, 3, 1), np.float32)
    assert ov.Squeeze().kernel()(x, np.array([0, 1], I64)).shape == (3, 1)
    assert ov.Squeeze().kernel()(x).shape == (3,)
    assert ov.Squeeze().kernel()(x, np.zeros(0, I64)).shape == (3,)
    with pytest.raises(InferenceError, match="axis 1 cannot be squeezed"):
        inferred(onnx.Squeeze(axes=(1,)), f32(1, 3))
    assert inferred(ov.Squeeze(), f32(1, 3)) == ["f32[3]"]


def test_unsqueeze_counts_axes_of_the_result() -> None:
    x = np.zeros((2, 3), np.float32)
    assert ov.Unsqueeze().kernel()(x, np.array([-1, 0], I64)).shape == (1, 2, 3, 1)
    assert inferred(onnx.Unsqueeze(axes=(3, 0)), f32(2, "N")) == ["f32[1,2,N,1]"]
    with pytest.raises(InferenceError, match="axes are not unique"):
        inferred(onnx.Unsqueeze(axes=(0, -3)), f32(2))


def test_tile_fills_the_shorter_side_with_ones() -> None:
    x = np.array([1, 2], np.int8)
    tiled = ov.Tile().kernel()(x, np.array([2, 1], I64))
    assert tiled.tolist() == [[1, 2], [1, 2]]
    assert ov.Tile().kernel()(tiled, np.array([2], I64)).tolist() == [[1, 2, 1, 2]] * 2
    one = onnx.Tile1().kernel()(x, np.array([3], I64), np.array([0], I64))
    assert one.tolist() == [1, 2, 1, 2, 1, 2]


def test_a_reshape_to_minus_one_finds_the_size_beside_named_dimensions() -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32("N", 4, 5))
    rows = b(onnx.Reshape(), x, b.i64([0, -1]))
    assert str(rows.type) == "f32[N,20]"
    # Exporters write x.reshape(x.shape[0], -1) in this way.
    size = b(onnx_gather.Gather(0), b(onnx.Shape1(), x), b.i64(0))
    pattern = b(onnx_slicing.Concat(0), b(onnx.Unsqueeze(axes=(0,)), size), b.i64([-1]))
    assert str(b(onnx.Reshape(), x, pattern).type) == "f32[N,20]"
    with pytest.raises(InferenceError, match="the elements cannot be divided by the given sizes"):
        b(onnx.Reshape(), b.parameter("y", f32(3)), b.i64([2, -1]))


def test_known_sizes_are_constants() -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32(2, None, 3))
    assert b.constant_of(b(onnx.Shape15(start=2), x)) == np.array([3])
    assert b.constant_of(b(onnx.Shape15(start=1), x)) is None
    count = b(onnx.Size(), b.parameter("y", f32(2, 3)))
    assert b.constant_of(count) == np.array(6)


@pytest.mark.parametrize(
    ("target", "expected"), [((2, 1), "f32[2,3]"), ((4, 1, 1), "f32[4,1,3]"), ((1,), "f32[1,3]")]
)
def test_expand_broadcasts_in_both_directions(target: tuple[int, ...], expected: str) -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32(1, 3))
    assert str(b(onnx.Expand(), x, b.i64(target)).type) == expected


def test_broadcast_has_one_direction_unless_bidirectional() -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32(3, 1))
    assert str(b(ov.Broadcast3(), x, b.i64([2, 3, 4])).type) == "f32[2,3,4]"
    assert str(b(ov.Broadcast3(mode="bidirectional"), x, b.i64([1, 4])).type) == "f32[3,4]"
    with pytest.raises(InferenceError, match="cannot be broadcast"):
        b(ov.Broadcast3(), x, b.i64([1, 4]))
    placed = ov.Broadcast(mode="explicit").kernel()
    data = np.array([1, 2], np.int32)
    rows = placed(data, np.array([2, 3], I64), np.array([0], I64))
    assert rows.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_flatten_keeps_known_dimensions() -> None:
    assert inferred(onnx.Flatten(axis=2), f32("N", 1, 3, 4)) == ["f32[N,12]"]
    assert inferred(onnx.Flatten(axis=0), f32(2, 3)) == ["f32[1,6]"]
    assert inferred(onnx.Flatten(axis=-1), ANY) == ["f32[?,?]"]
    with pytest.raises(InferenceError, match="axis is out of range"):
        inferred(onnx.Flatten(axis=3), f32(2, 3))


I64_LIST = TensorType(ElementType.I64, Shape.of(None))


@pytest.mark.parametrize(
    ("op", "types", "expected"),
    [
        (ov.ShapeOf3(ElementType.I32), [ANY], "i32[?]"),
        (ov.Reshape(), [ANY, TensorType(ElementType.I64, Shape.of(3))], "f32[?,?,?]"),
        (ov.Squeeze(), [ANY, I64_LIST], "f32[...]"),
        (ov.Unsqueeze(), [f32(2), TensorType(ElementType.I64, Shape.of(2))], "f32[?,?,?]"),
        (ov.Transpose(), [f32(2, 3), I64_LIST], "f32[?,?]"),
        (ov.Tile(), [ANY, I64_LIST], "f32[...]"),
        (onnx.Transpose(perm=(1, 0)), [ANY], "f32[?,?]"),
        (onnx.Size(), [ANY], "i64[]"),
        (onnx.Expand(), [ANY, I64_LIST], "f32[...]"),
    ],
)
def test_unknown_types_are_not_an_error(op: Op, types: list[TensorType], expected: str) -> None:
    assert inferred(op, *types) == [expected]


def test_an_order_must_be_a_permutation() -> None:
    with pytest.raises(InferenceError, match="not a permutation"):
        inferred(onnx.Transpose(perm=(0, 0)), f32(2, 3))
