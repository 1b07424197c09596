"""Conversion of operations as defined before opset 7 to OpenVINO; expected values are computed by
hand.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import irloop
from irloop.conversion import pipelines
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.execution.session import Session
from irloop.formats.onnx import reader
from tests.conversion.both_engines import needs_engines

F32, BOOL = TensorProto.FLOAT, TensorProto.BOOL


def model_of(
    op: str,
    opset: int,
    shapes: list[tuple[int, ...]],
    element: int,
    n_outputs: int,
    **attributes: Any,
) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(f"x{index}", element, shape)
        for index, shape in enumerate(shapes)
    ]
    outputs = [helper.make_value_info(f"y{index}", onnx.TypeProto()) for index in range(n_outputs)]
    node = helper.make_node(
        op, [item.name for item in inputs], [item.name for item in outputs], **attributes
    )
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


def both_ways(
    op: str, opset: int, arrays: list[Any], n_outputs: int = 1, **attributes: Any
) -> list[list[Any]]:
    """The outputs of the ONNX model and of its conversion to OpenVINO."""
    element = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    proto = model_of(op, opset, [item.shape for item in arrays], element, n_outputs, **attributes)
    source = reader.from_proto(proto)
    target, _ = pipelines.to_openvino(source)
    return [list(Session(model).run(arrays).values()) for model in (source, target)]


def f32(numbers: Any) -> Any:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Add", [[11, 12], [23, 24]]),
        ("Sub", [[-9, -8], [-17, -16]]),
        ("Mul", [[10, 20], [60, 80]]),
        ("Div", [[0.1, 0.2], [0.15, 0.2]]),
        ("Greater", [[False, False], [False, False]]),
        ("Less", [[True, True], [True, True]]),
    ],
)
@pytest.mark.parametrize("opset", [1, 6])
def test_second_operand_at_an_axis(op: str, expected: list[Any], opset: int) -> None:
    arrays = [f32([[1, 2], [3, 4]]), f32([10, 20])]
    for (result,) in both_ways(op, opset, arrays, axis=0, broadcast=1):
        np.testing.assert_allclose(result, expected, rtol=1e-6)


OPERATIONS = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Greater": np.greater,
    "Less": np.less,
    "Equal": np.equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
}


@needs_engines
@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize(("shape", "aligned"), [((3,), (1, 3, 1, 1)), ((3, 2), (1, 3, 2, 1))])
def test_openvino_aligns_the_second_operand(
    op: str, shape: tuple[int, ...], aligned: tuple[int, ...], tmp_path: Path
) -> None:
    """Of OpenVINO's mode pdpd, its CPU plugin computes Add, Multiply and Power only."""
    left = np.arange(12).reshape(1, 3, 2, 2) % 5 + 1
    right = np.arange(math.prod(shape)).reshape(shape) % 3 + 1
    kind = {"Equal": np.int32, "And": np.bool_, "Or": np.bool_, "Xor": np.bool_}.get(op, np.float32)
    left, right = (left % 2, right % 2) if kind is np.bool_ else (left, right)
    arrays: list[Any] = [left.astype(kind), right.astype(kind)]
    element = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    proto = model_of(op, 6, [left.shape, shape], element, 1, axis=1, broadcast=1)
    path = tmp_path / "model.xml"
    irloop.save_model(pipelines.to_openvino(reader.from_proto(proto))[0], path)
    sets = [arrays, [arrays[0][..., ::-1].copy(), arrays[1]]]
    with Process(engine_of("openvino"), path) as process:
        answers = [process.run(given, seconds=60.0) for given in sets]
    for answer, given in zip(answers, sets, strict=True):
        assert answer.outputs is not None, str(answer)
        wanted = OPERATIONS[op](given[0], given[1].reshape(aligned))
        np.testing.assert_allclose(answer.outputs[0], wanted, rtol=1e-5)


def test_second_operand_at_the_end() -> None:
    arrays = [f32([[1, 2], [3, 4]]), f32([10, 20])]
    for (result,) in both_ways("Add", 6, arrays, broadcast=1):
        assert result.tolist() == [[11, 22], [13, 24]]


def test_and_broadcasts_at_an_axis() -> None:
    arrays = [np.array([[True, False], [True, True]]), np.array([False, True])]
    for (result,) in both_ways("And", 1, arrays, axis=0, broadcast=1):
        assert result.tolist() == [[False, False], [True, True]]


def test_pow_broadcasts_at_an_axis() -> None:
    for (result,) in both_ways("Pow", 1, [f32([[2, 3]]), f32([3])], axis=0, broadcast=1):
        assert result.tolist() == [[8, 27]]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [-3, 0, 3]),
        ({"min": -1.0}, [-1, 0, 3]),
        ({"max": 1.0}, [-3, 0, 1]),
        ({"min": -1.0, "max": 1.0}, [-1, 0, 1]),
        ({"min": 2.0, "max": 1.0}, [1, 1, 1]),
    ],
)
@pytest.mark.parametrize("opset", [1, 6])
def test_clip(attributes: dict[str, Any], expected: list[float], opset: int) -> None:
    for (result,) in both_ways("Clip", opset, [f32([-3, 0, 3])], **attributes):
        assert result.tolist() == expected


def test_selu_with_its_first_constants() -> None:
    for (result,) in both_ways("Selu", 1, [f32([1, -1])]):
        np.testing.assert_allclose(result, [1.0507, 1.0507 * 1.6732 * (np.exp(-1) - 1)], rtol=1e-6)


def test_the_slope_of_prelu_belongs_to_the_channels() -> None:
    arrays = [f32([[[-1, -1], [-1, 1]]]), f32([2, 3])]
    for (result,) in both_ways("PRelu", 6, arrays):
        assert result.tolist() == [[[-2, -2], [-3, 1]]]


@pytest.mark.parametrize("opset", [6, 7])
def test_batch_normalization(opset: int) -> None:
    arrays = [f32([[8.0]]), f32([2]), f32([3]), f32([6]), f32([4])]
    extra = {"is_test": 1} if opset == 6 else {}
    for (result,) in both_ways("BatchNormalization", opset, arrays, epsilon=0.0, **extra):
        assert result.tolist() == [[5.0]]


def test_batch_normalization_of_each_element() -> None:
    arrays = [f32([[[1, 2]], [[3, 4]]]), *(f32([[1, 1]]) for _ in range(4))]
    for (result,) in both_ways("BatchNormalization", 7, arrays, epsilon=0.0, spatial=0):
        assert result.tolist() == [[[1, 2]], [[3, 4]]]


@pytest.mark.parametrize("opset", [1, 6, 7, 10])
def test_dropout(opset: int) -> None:
    """The mask of opsets 7 and 10 is that of ONNX Runtime 1.32, which does not run older ones."""
    extra = {"is_test": 1} if opset < 7 else {}
    kinds = []
    for result, mask in both_ways("Dropout", opset, [f32([1, 2])], n_outputs=2, **extra):
        assert result.tolist() == [1, 2]
        assert mask.tolist() == ([1, 1] if opset < 7 else [0, 0])
        kinds.append(mask.dtype)
    assert set(kinds) == {np.dtype(np.bool_ if opset >= 10 else np.float32)}


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_normalises_all_axes_from_axis_on(op: str) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    expected: dict[str, Any] = {
        "Softmax": np.exp([0, 1, 2, 3]) / np.exp([0, 1, 2, 3]).sum(),
        "LogSoftmax": np.array([0, 1, 2, 3]) - np.log(np.exp([0, 1, 2, 3]).sum()),
        "Hardmax": [0, 0, 0, 1],
    }
    for (result,) in both_ways(op, 11, [x], axis=1):
        np.testing.assert_allclose(result.reshape(2, 4), [expected[op]] * 2, rtol=1e-5)


def test_cast_to_a_type_given_as_text() -> None:
    for (result,) in both_ways("Cast", 1, [f32([2.7, -2.7])], to="INT32"):
        assert result.tolist() == [2, -2]
        assert result.dtype == np.int32


def test_max_of_one_operand() -> None:
    for (result,) in both_ways("Max", 6, [f32([1, 2])]):
        assert result.tolist() == [1, 2]
