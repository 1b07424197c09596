"""FakeQuantize in ONNX: QuantizeLinear and DequantizeLinear where they mean the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import Clamp
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.convolution import Convolution, GroupConvolution
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.graph.model import Model, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType

Array = np.ndarray[Any, np.dtype[Any]]
Limits = tuple[float, float, float, float]
NUMBERS = np.random.default_rng(0)


def quantised(m: IrModel, x: Value, limits: Any, levels: int = 256) -> Value:
    return m(FakeQuantize(levels=levels), x, *(m.constant(limit) for limit in limits))


def alone(limits: Any, levels: int = 256, *, channels: int = 3) -> Model:
    m = IrModel()
    return m.done(quantised(m, m.input("x", 2, channels, 50), limits, levels))


def by_the_formula(x: Array, limits: Any, levels: int) -> Array:
    """The formula of FakeQuantize-1, in double precision."""
    low, high, new_low, new_high = (np.asarray(limit, np.float64) for limit in limits)
    steps = np.round((np.clip(x, low, high) - low) / (high - low) * (levels - 1))
    result: Array = steps / (levels - 1) * (new_high - new_low) + new_low
    return result


def written(model: Model, folder: Path) -> onnx.ModelProto:
    made, _ = irloop.convert(model)
    irloop.save_model(made, folder / "m.onnx")
    return onnx.load(folder / "m.onnx")


def counted(proto: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in proto.graph.node)


def channels(*numbers: float) -> list[list[float]]:
    return [[number] for number in numbers]


#: Limits, levels, and the element type of the codes; none if the formula is written.
GRIDS: dict[str, tuple[Any, int, int | None]] = {
    "unsigned": ((0, 6, 0, 6), 256, onnx.TensorProto.UINT8),
    "signed": ((-2.56, 2.54, -2.56, 2.54), 256, onnx.TensorProto.UINT8),
    "another result": ((-2.56, 2.54, -1.28, 1.27), 256, onnx.TensorProto.UINT8),
    "another zero point": ((0, 5.1, -2.56, 2.54), 256, onnx.TensorProto.UINT8),
    "0 between two numbers": ((-1.005, 1.545, -1.005, 1.545), 256, None),
    "0 below the range": ((0.5, 1.5, 0.5, 1.5), 256, None),
    "fewer levels": ((-1, 1, -1, 1), 255, None),
    "a scale a channel": (
        (channels(-2.56, -1.28, -5.12), channels(2.54, 1.27, 5.08)) * 2,
        256,
        None,
    ),
}


@pytest.mark.parametrize("kind", GRIDS)
def test_a_grid_with_0_becomes_a_quantisation(kind: str, tmp_path: Path) -> None:
    limits, levels, element = GRIDS[kind]
    proto = written(alone(limits, levels), tmp_path)
    count = 0 if element is None else 1
    assert counted(proto)["QuantizeLinear"] == counted(proto)["DequantizeLinear"] == count
    x = (NUMBERS.standard_normal((2, 3, 50)) * 3).astype(np.float32)
    (y,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
    np.testing.assert_allclose(y, by_the_formula(x, limits, levels), rtol=1e-5, atol=1e-6)
    if element is not None:
        zeros = {item.name: item for item in proto.graph.initializer}
        (node,) = [node for node in proto.graph.node if node.op_type == "QuantizeLinear"]
        assert zeros[node.input[2]].data_type == element


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("0 between two numbers", "0 is not one of its 256 numbers"),
        ("fewer levels", "it has 255 levels"),
        ("a scale a channel", "its channels have several"),
    ],
)
def test_a_note_says_why_the_formula_is_written(kind: str, why: str) -> None:
    limits, levels, _ = GRIDS[kind]
    _, notes = irloop.convert(alone(limits, levels))
    (note,) = [note for note in notes if note.code == "CNV114"]
    assert why in note.message


def weights_of(levels: int, *, signed: bool) -> tuple[Array, Limits | Any]:
    weights = NUMBERS.standard_normal((4, 2, 3, 3)).astype(np.float32)
    most = np.abs(weights).max((1, 2, 3), keepdims=True)
    least = -most if signed else -most / 4
    return weights, (least, most, least, most)


@pytest.mark.parametrize(("levels", "signed"), [(255, True), (16, False)])
def test_weights_become_codes(levels: int, signed: bool, tmp_path: Path) -> None:
    weights, limits = weights_of(levels, signed=signed)
    m = IrModel()
    window = Convolution(strides=(1, 1), pads_begin=(0, 0), pads_end=(0, 0), dilations=(1, 1))
    y = m(window, m.input("x", 1, 2, 5, 5), quantised(m, m.constant(weights), limits, levels))
    proto = written(m.done(y), tmp_path)
    codes = [item for item in proto.graph.initializer if list(item.dims) == [4, 2, 3, 3]]
    assert [item.data_type for item in codes] == [onnx.TensorProto.INT8]
    assert np.ptp(numpy_helper.to_array(codes[0]).astype(int)) <= levels - 1
    x = np.zeros((1, 2, 5, 5), np.float32)
    x[0, :, 2, 2] = 1  # the result is the sum of the reversed weights of both channels
    (y_found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": x})
    wanted = by_the_formula(weights, limits, levels).sum(1)[:, ::-1, ::-1]
    np.testing.assert_allclose(y_found[0], wanted, rtol=1e-5, atol=1e-6)


def compressed(m: IrModel, *dims: int) -> Value:
    """Weights of 8 bits, with a scale for each number of the first axis."""
    numbers = NUMBERS.integers(-127, 128, dims).astype(np.int8)
    wide = m(Convert(ElementType.F32), m.builder.tensor(ArrayTensor(numbers, ElementType.I8)))
    return m(
        Multiply(),
        wide,
        m.constant(NUMBERS.uniform(0.001, 0.01, (dims[0], *[1] * (len(dims) - 1)))),
    )


def net(*, depthwise: bool) -> Model:
    """Two quantised convolutions with a bias and a limit."""
    m = IrModel()
    x = m.input("x", 1, 8, 6, 6)
    settings: Any = {
        "strides": (1, 1),
        "pads_begin": (1, 1),
        "pads_end": (1, 1),
        "dilations": (1, 1),
    }
    for _ in range(2):
        x = quantised(m, x, (0, 6, 0, 6))
        if depthwise:
            x = m(GroupConvolution(**settings), x, compressed(m, 8, 1, 1, 3, 3))
        else:
            x = m(Convolution(**settings), x, compressed(m, 8, 8, 3, 3))
        x = m(Add(), x, m.constant(NUMBERS.standard_normal((1, 8, 1, 1))))
        x = m(Clamp(0.0, 6.0), x)
    return m.done(quantised(m, x, (0, 6, 0, 6)))


@pytest.mark.parametrize("depthwise", [False, True])
def test_onnx_runtime_computes_with_integers(depthwise: bool, tmp_path: Path) -> None:
    model = net(depthwise=depthwise)
    proto = written(model, tmp_path)
    assert "Reshape" not in counted(proto)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", options)
    assert counted(onnx.load(tmp_path / "optimised.onnx"))["QLinearConv"] == 2
    x = np.abs(NUMBERS.standard_normal((1, 8, 6, 6)) * 2).astype(np.float32)
    (y,) = session.run(None, {"x": x})
    (wanted,) = irloop.run(model, {"x": x}).values()
    # A sum near the middle of two codes may be rounded to the other one.
    codes = np.abs(np.rint(y / (6 / 255)) - np.rint(wanted / (6 / 255)))
    assert codes.max() <= 1
    assert (codes > 0).mean() < 0.02
