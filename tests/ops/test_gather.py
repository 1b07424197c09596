"""Gathers: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import gather as onnx
from irloop.dialects.openvino import gather as ov
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Gather GatherElements GatherND GatherTree"

BACKEND_OPS = "Compress Gather GatherElements GatherND"


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


def test_batches_are_paired_at_any_axis() -> None:
    data = np.arange(24).reshape(2, 3, 4)
    indices = np.array([[3, 0], [1, 1]])
    found = ov.Gather8(batch_dims=1).kernel()(data, indices, np.array(2))
    expected = np.stack([data[0][:, indices[0]], data[1][:, indices[1]]])
    np.testing.assert_array_equal(found, expected)
    # A negative batch_dims counts from the rank of the indices.
    same = ov.Gather8(batch_dims=-1).kernel()(data, indices, np.array(-1))
    np.testing.assert_array_equal(same, expected)


def test_indices_of_elements_may_cover_a_part() -> None:
    data = np.arange(6).reshape(2, 3)
    found = onnx.GatherElements(axis=1).kernel()(data, np.array([[2, -3]]))
    assert found.tolist() == [[2, 0]]


def test_coordinates_of_nothing_and_of_everything() -> None:
    data = np.arange(6).reshape(2, 3)
    run = onnx.GatherND12().kernel()
    assert run(data, np.array([1, -1])).tolist() == 5
    assert run(data, np.zeros((2, 0), np.int64)).shape == (2, 2, 3)


def test_batch_axes_become_one_in_gathernd_5() -> None:
    data = np.arange(12).reshape(2, 3, 2)
    indices = np.array([[[0], [1], [0]], [[1], [1], [0]]])
    older, newer = (
        cls(batch_dims=2).kernel()(data, indices) for cls in (ov.GatherND, ov.GatherND8)
    )
    assert older.tolist() == [0, 3, 4, 7, 9, 10]
    assert newer.shape == (2, 3)
    assert inferred(ov.GatherND(2), f32(2, 3, 2), i64(2, 3, 1)) == ["f32[6]"]


def test_shapes_of_gathers() -> None:
    assert inferred(onnx.Gather(axis=1), f32("N", 3, 4), i64(5, 6)) == ["f32[N,5,6,4]"]
    assert inferred(onnx.Gather(axis=-1), ANY, i64()) == ["f32[...]"]
    assert inferred(onnx.GatherND(), f32(2, "N"), i64(7, 1)) == ["f32[7,N]"]
    assert inferred(onnx.GatherElements(axis=0), ANY, i64(7, 1)) == ["f32[7,1]"]
    assert inferred(onnx.Compress(axis=1), f32(2, 3), BOOLEANS) == ["f32[2,?]"]
    assert inferred(onnx.Compress(), f32(2, 3), BOOLEANS) == ["f32[?]"]
    with pytest.raises(InferenceError, match="axis is out of range"):
        inferred(onnx.Gather(axis=3), f32(2, 3), i64(1))
    with pytest.raises(InferenceError, match="more coordinates than axes"):
        inferred(onnx.GatherND(), f32(2), i64(3, 2))
    with pytest.raises(InferenceError, match="operand 1 is not an integer"):
        inferred(onnx.Gather(), f32(2), f32(1))


BOOLEANS = TensorType(ElementType.BOOLEAN, Shape.of(None))


def test_a_size_that_is_gathered_keeps_its_name() -> None:
    b = Builder(Graph())
    shape = b(ShapeOf3(), b.parameter("x", f32("N", 3)))
    picked = b(ov.Gather8(), shape, b.i64([0, 1, -1]), b.i64(0))
    dims = b.inference.dims(picked)
    assert dims is not None
    assert list(map(str, dims)) == ["N", "3", "3"]


def test_beams_end_at_their_first_end_token() -> None:
    ids = np.array([[[1, 2]], [[3, 9]], [[4, 5]]], np.int32)
    parents = np.array([[[0, 0]], [[1, 0]], [[1, 0]]], np.int32)
    found = ov.GatherTree().kernel()(ids, parents, np.array([3], np.int32), np.array(9, np.int32))
    # Beam 0 ends with 4; it comes from beam 1 (9, the end token), which comes from beam 0 (1).
    assert found.tolist() == [[[1, 2]], [[9, 3]], [[9, 5]]]
