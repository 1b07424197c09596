"""Slices, splits and concatenations: kernels and inference against OpenVINO's and ONNX's own
values.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import slicing as onnx
from irloop.dialects.openvino import slicing as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Value
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Concat Slice SliceScatter Split StridedSlice VariadicSplit"

BACKEND_OPS = "Concat Slice Split TensorScatter"


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


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def i64(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_masks_of_a_strided_slice() -> None:
    # In NumPy this is x[..., None, 1, ::-1]; a 1 in a mask removes the bound.
    op = ov.StridedSlice(
        begin_mask=(0, 0, 0, 1),
        end_mask=(0, 0, 0, 1),
        new_axis_mask=(0, 1),
        shrink_axis_mask=(0, 0, 1),
        ellipsis_mask=(1,),
    )
    found = op.kernel()(X, i64(9, 9, 1, 9), i64(9, 9, 9, 9), i64(1, 1, 1, -1))
    np.testing.assert_array_equal(found, X[..., None, 1, ::-1])


def test_a_backward_slice_reaches_the_first_element() -> None:
    run = onnx.Slice10().kernel()
    assert run(i64(1, 2, 3), i64(-1), i64(-100), i64(0), i64(-1)).tolist() == [3, 2, 1]
    assert run(i64(1, 2, 3), i64(2), i64(0), i64(0), i64(-1)).tolist() == [3, 2]
    # A start before the first element is clamped to the first one, unlike in NumPy.
    assert run(i64(1, 2, 3), i64(-9), i64(-100), i64(0), i64(-1)).tolist() == [1]
    masked = ov.StridedSlice(end_mask=(1, 0), new_axis_mask=(0, 1)).kernel()
    assert masked(i64(1, 2, 3), i64(-9, 0), i64(0, 0), i64(-2, 1)).tolist() == [[1]]
    smallest = np.iinfo(np.int64).min
    assert ov.Slice().kernel()(i64(1, 2), i64(9), i64(smallest), i64(-1)).tolist() == [2, 1]


def test_the_last_part_may_be_smaller() -> None:
    x = np.arange(7)
    parts = onnx.Split18(num_outputs=3).kernel(3)(x)
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    assert inferred(onnx.Split18(num_outputs=3), f32(7), n_outputs=3) == [
        "f32[3]",
        "f32[3]",
        "f32[1]",
    ]
    with pytest.raises(InferenceError, match="cannot be divided"):
        inferred(onnx.Split13(), f32(7), n_outputs=3)


def test_parts_of_equal_length_must_fit() -> None:
    # The first three parts take two elements each; ONNX Runtime also refuses to run this.
    with pytest.raises(InferenceError, match="too short"):
        inferred(onnx.Split18(num_outputs=4), f32(5), n_outputs=4)
    ends_empty = inferred(onnx.Split18(num_outputs=5), f32(4), n_outputs=5)
    assert ends_empty == [*["f32[1]"] * 4, "f32[0]"]


def test_one_length_is_inferred_from_the_rest() -> None:
    parts = ov.VariadicSplit().kernel(3)(X, i64(2), i64(1, -1, 2))
    assert [part.shape for part in parts] == [(2, 3, 1), (2, 3, 1), (2, 3, 2)]
    b = Builder(Graph())
    x = b.parameter("x", f32(2, "N"))
    node = b.emit(ov.VariadicSplit(), x, b.i64(1), b.i64([1, -1]), n_outputs=2)
    assert [str(value.type) for value in node.outputs] == ["f32[2,1]", "f32[2,?]"]
    with pytest.raises(InferenceError, match="lengths do not add up to the axis"):
        b.emit(ov.VariadicSplit(), x, b.i64(0), b.i64([1, 3]), n_outputs=2)


def test_a_part_is_a_view() -> None:
    first, _ = onnx.Split(axis=0).kernel(2)(X)
    assert np.shares_memory(first, X)


def test_the_sizes_of_a_concatenated_axis_are_added_and_others_refined() -> None:
    assert inferred(onnx.Concat(axis=-1), f32(None, 3), f32(2, 4)) == ["f32[2,7]"]
    assert inferred(ov.Concat(axis=0), f32("N", 3), f32(0, None)) == ["f32[N,3]"]
    assert inferred(ov.Concat(axis=1), ANY, f32(2, 4)) == ["f32[2,?]"]
    with pytest.raises(InferenceError, match="dimensions other than axis 1 differ"):
        inferred(onnx.Concat(axis=1), f32(2, 3), f32(3, 3))
    with pytest.raises(InferenceError, match="ranks differ"):
        inferred(onnx.Concat(axis=0), f32(2), f32(2, 2))


def _sliced(type: TensorType, *bounds: list[int]) -> str:
    b = Builder(Graph())
    inputs: list[Value] = [b.i64(bound) for bound in bounds]
    return str(b(onnx.Slice10(), b.parameter("x", type), *inputs).type)


def test_lengths_of_slices() -> None:
    end = np.iinfo(np.int64).max
    assert _sliced(f32(10, 3), [1], [8], [0], [3]) == "f32[3,3]"
    assert _sliced(f32("N", 3), [0], [end], [0]) == "f32[N,3]"
    assert _sliced(f32("N", 3), [-1], [-end], [0], [-1]) == "f32[N,3]"
    assert _sliced(f32("N", 3), [1], [end], [0]) == "f32[?,3]"
    assert _sliced(f32(4, 3), [9], [2], [-2], [1]) == "f32[0,3]"
    assert _sliced(f32(4, 3), [-9], [-end], [0], [-1]) == "f32[1,3]"
    with pytest.raises(InferenceError, match="a step is 0"):
        _sliced(f32(4), [0], [1], [0], [0])
    with pytest.raises(InferenceError, match="differ in length"):
        _sliced(f32(4), [0, 0], [1], [0])


def test_a_strided_slice_of_unknown_bounds_keeps_masked_axes() -> None:
    two = TensorType(ElementType.I64, Shape.of(2))
    op = ov.StridedSlice(begin_mask=(1, 0), end_mask=(1, 0))
    assert inferred(op, f32("N", 5, 6), two, two) == ["f32[N,?,6]"]
    assert inferred(op, ANY, two, two) == ["f32[...]"]
    three = TensorType(ElementType.I64, Shape.of(3))
    with pytest.raises(InferenceError, match="masks differ in length"):
        inferred(ov.StridedSlice(begin_mask=(1,), end_mask=(1, 0)), f32("N", 5), two, two)
    with pytest.raises(InferenceError, match="more positions than dimensions"):
        inferred(ov.StridedSlice(), f32(4, 4), three, three)


def test_slice_scatter_writes_a_slice() -> None:
    zeros = np.zeros(5, np.float32)
    ones = np.ones(2, np.float32)
    run = ov.SliceScatter().kernel()
    assert run(zeros, ones, i64(1), i64(5), i64(2)).tolist() == [0, 1, 0, 1, 0]
    assert zeros.sum() == 0


def test_a_circular_cache_wraps_around() -> None:
    cache = np.zeros((2, 1, 3, 1), np.float32)
    update = np.arange(1, 5, dtype=np.float32).reshape(2, 1, 2, 1)
    found = onnx.TensorScatter(mode="circular").kernel()(cache, update, i64(2, 0))
    assert found.reshape(2, 3).tolist() == [[2, 0, 1], [3, 4, 0]]
