"""Padding: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import padding as onnx
from irloop.dialects.openvino import padding as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.op import Op
from irloop.graph.types import UNKNOWN_SHAPE, DynamicDim, ElementType, Shape, TensorType

OPCONF_TYPES = "Pad"

BACKEND_OPS = "CenterCropPad Pad"


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


X = np.array([1, 2, 3], np.int32)


def i64(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("constant", [0, 0, 1, 2, 3, 0, 0, 0, 0]),
        ("edge", [1, 1, 1, 2, 3, 3, 3, 3, 3]),
        ("reflect", [3, 2, 1, 2, 3, 2, 1, 2, 3]),
        ("symmetric", [2, 1, 1, 2, 3, 3, 2, 1, 1]),
        ("wrap", [2, 3, 1, 2, 3, 1, 2, 3, 1]),
    ],
)
def test_modes_continue_beyond_one_period(mode: str, expected: list[int]) -> None:
    np_mode = np.pad(X, (2, 4), mode=mode)  # type: ignore[call-overload]
    assert np_mode.tolist() == expected
    run = onnx.Pad19(mode).kernel() if mode != "symmetric" else None
    found = ov.Pad(mode).kernel()(X, i64(2), i64(4)) if run is None else run(X, i64(2, 4))
    assert found.tolist() == expected


def test_negative_numbers_crop() -> None:
    run = ov.Pad12("constant").kernel()
    assert run(X, i64(-1), i64(2), np.array(7, np.int32)).tolist() == [2, 3, 7, 7]
    assert run(X, i64(-2), i64(-1)).tolist() == []
    assert run(X, i64(-4), i64(3)).tolist() == [0, 0]
    # The mirrored elements come from the whole axis, even if the axis is cropped.
    assert ov.Pad12("reflect").kernel()(X, i64(-2), i64(2)).tolist() == [3, 2, 1]


def test_axes_are_those_listed() -> None:
    x = np.ones((1, 2), np.float32)
    found = onnx.Pad18().kernel()(x, i64(1, 0), np.array(5, np.float32), i64(-1))
    assert found.tolist() == [[5, 1, 1]]
    assert onnx.Pad2(pads=(0, 1, 0, 0), value=2.0).kernel()(x).tolist() == [[2, 1, 1]]


def test_booleans_stay_booleans() -> None:
    found = onnx.Pad11().kernel()(np.array([True]), i64(1, 0))
    assert found.dtype == np.bool_
    assert found.tolist() == [False, True]


def test_an_odd_element_is_cropped_or_added_at_the_end() -> None:
    run = onnx.CenterCropPad().kernel()
    assert run(np.arange(1, 4), i64(6)).tolist() == [0, 1, 2, 3, 0, 0]
    # Cropping 5 to 2 starts at element 1.
    assert run(np.arange(1, 6), i64(2)).tolist() == [2, 3]


def test_shapes_of_padding() -> None:
    b = Builder(Graph())
    x = b.parameter("x", f32("N", 3))
    padded = b(ov.Pad(), x, b.i64([0, 1]), b.i64([0, 2]))
    assert str(padded.type) == "f32[N,6]"
    grown = b(onnx.Pad18(), x, b.i64([1, 1]), None, b.i64([-1]))
    assert str(grown.type) == "f32[N,5]"
    assert inferred(onnx.Pad2(pads=(1, 1, 1, 1)), ANY) == ["f32[?,?]"]
    assert inferred(onnx.CenterCropPad(), ANY, SIZES) == ["f32[...]"]
    with pytest.raises(InferenceError, match="padding is negative"):
        b(ov.Pad(), x, b.i64([0, -1]), b.i64([0, 0]))
    with pytest.raises(InferenceError, match="negative padding removes more than the axis has"):
        b(ov.Pad12(), x, b.i64([0, -2]), b.i64([0, -2]))
    with pytest.raises(InferenceError, match="mode is not known"):
        b(onnx.Pad18("wrap"), x, b.i64([0, 0, 0, 0]))


SIZES = TensorType(ElementType.I64, Shape.of(2))
