"""Quantised ONNX models in further forms whose IR OpenVINO computes with integers.

Its runtime precisions are checked. Expected codes are computed here in NumPy with exact integers; a
result in the middle between two codes may get either of them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="OpenVINO is not installed"
)

Array = np.ndarray[Any, np.dtype[Any]]
PRODUCTS = {"Convolution", "FullyConnected", "MatMul"}
#: Channels of the data and of the result.
K, N = 48, 32
#: Scale and zero point of the data and of the result; multiples of the scale make no exact middle.
DATA: dict[Any, tuple[float, int]] = {np.uint8: (0.0517, 121), np.int8: (0.0517, -7)}
RESULT: dict[Any, tuple[float, int]] = {np.uint8: (0.3371, 117), np.int8: (0.3371, 5)}


class Source:
    """An ONNX model with one input x that is quantised, and the codes of x."""

    def __init__(self, shape: list[int], element: Any = np.uint8) -> None:
        self.random = np.random.default_rng(len(shape))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.shape, self.element = shape, element
        self.scale, self.zero = DATA[element]
        self.x = self.random.normal(scale=2, size=shape).astype(np.float32)
        limits = np.iinfo(element)
        rounded = np.rint(self.x / np.float32(self.scale)) + self.zero
        self.codes = np.clip(rounded, limits.min, limits.max).astype(np.int64)
        self.pair = [self.number(self.scale, np.float32), self.number(self.zero, element)]
        self.quantised = self("QuantizeLinear", "x", *self.pair)

    def __call__(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], domain=domain, **attributes))
        return name

    def number(self, value: Any, element: Any) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, element), name))
        return name

    def run(self, result: str, folder: Path) -> tuple[Array, set[str]]:
        """The result of the IR in OpenVINO, and the precisions of its products."""
        import openvino

        port = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "g",
            [port("x", TensorProto.FLOAT, self.shape)],
            [port(result, TensorProto.FLOAT, None)],
            self.weights,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "m.onnx")
        irloop.save_model(irloop.convert(folder / "m.onnx")[0], folder / "m.xml")
        compiled = openvino.compile_model(
            folder / "m.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
        )
        infos = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
        kinds = {
            info["runtimePrecision"].astype(str)
            for info in infos
            if info["layerType"].astype(str) in PRODUCTS
        }
        return compiled([self.x])[0], kinds


def weights(source: Source, shape: tuple[int, ...], *, several: bool) -> tuple[Array, Array]:
    codes = source.random.integers(-127, 128, shape)
    scales = source.random.uniform(0.005, 0.015, N if several else ()).astype(np.float32)
    return codes, scales


def assert_codes(found: Array, real: Array, result: tuple[float, int], element: Any) -> None:
    """Assert that `found` is `real` on the grid of the result, except for single middles."""
    scale, zero = result
    limits = np.iinfo(element)
    expected = np.clip(np.rint(real / scale) + zero, limits.min, limits.max) - zero
    apart = np.abs(np.rint(found / np.float32(scale)) - expected)
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 2


@pytest.mark.parametrize("several", [False, True], ids=["one scale", "scales"])
@pytest.mark.parametrize("element", DATA)
def test_qlinear_conv(element: Any, several: bool, tmp_path: Path) -> None:
    source = Source([1, K, 5, 5], element)
    codes, scales = weights(source, (N, K, 1, 1), several=several)
    bias = source.random.integers(-3000, 3000, N)
    result = RESULT[element]
    pair = [source.number(result[0], np.float32), source.number(result[1], element)]
    triple = [
        source.number(codes, np.int8),
        source.number(scales, np.float32),
        source.number(np.zeros(scales.shape), np.int8),
    ]
    last = source.number(bias, np.int32)
    made = source("QLinearConv", source.quantised, *source.pair, *triple, *pair, last)
    found, precisions = source.run(source("DequantizeLinear", made, *pair), tmp_path)
    total = np.einsum("nk,bkhw->bnhw", codes[:, :, 0, 0], source.codes - source.zero)
    total += bias[:, None, None]
    real = total * source.scale * np.broadcast_to(scales, N).astype(np.float64)[:, None, None]
    assert precisions <= {"i8", "u8"}
    assert_codes(found, real, result, element)


@pytest.mark.parametrize("several", [False, True], ids=["one scale", "scales"])
@pytest.mark.parametrize("kind", ["QLinearMatMul", "QGemm", "Transpose"])
def test_products_of_matrices(kind: str, several: bool, tmp_path: Path) -> None:
    source = Source([20, K])
    codes, scales = weights(source, (K, N), several=several)
    result = RESULT[np.uint8]
    pair = [source.number(result[0], np.float32), source.number(result[1], np.uint8)]
    rows = codes if kind == "QLinearMatMul" else codes.T
    triple = [
        source.number(rows, np.int8),
        source.number(scales, np.float32),
        source.number(np.zeros(scales.shape), np.int8),
    ]
    if kind == "QLinearMatMul":
        made = source(kind, source.quantised, *source.pair, *triple, *pair)
    elif kind == "QGemm":
        inputs = [source.quantised, *source.pair, *triple, "", *pair]
        made = source(kind, *inputs, domain="com.microsoft", transB=1)
    else:
        turned = source("Transpose", source("DequantizeLinear", *triple, axis=0), perm=[1, 0])
        data = source("DequantizeLinear", source.quantised, *source.pair)
        made = source("QuantizeLinear", source("MatMul", data, turned), *pair)
    found, precisions = source.run(source("DequantizeLinear", made, *pair), tmp_path)
    real = ((source.codes - source.zero) @ codes) * source.scale * scales.astype(np.float64)
    assert precisions <= {"i8", "u8"}
    assert_codes(found, real, result, np.uint8)


@pytest.mark.parametrize("kind", ["MatMulInteger", "ConvInteger"])
def test_integer_products_are_exact(kind: str, tmp_path: Path) -> None:
    source = Source([20, K] if kind == "MatMulInteger" else [1, K, 4, 5])
    shape = (K, N) if kind == "MatMulInteger" else (N, K, 1, 1)
    codes, _ = weights(source, shape, several=False)
    inputs = [source.quantised, source.number(codes, np.int8), source.pair[1]]
    found, precisions = source.run(source("Cast", source(kind, *inputs), to=1), tmp_path)
    centred = source.codes - source.zero
    if kind == "MatMulInteger":
        expected = centred @ codes
    else:
        expected = np.einsum("nk,bkhw->bnhw", codes[:, :, 0, 0], centred)
    assert precisions <= {"i8", "u8"}
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("zero", "integers"), [(128, True), (120, False)])
def test_unsigned_weights(zero: int, integers: bool, tmp_path: Path) -> None:
    """OpenVINO multiplies only weights without a zero point as integers.

    Where Subtract and Multiply dequantise the weights, it quantises the data anew (2026.4).
    """
    source = Source([20, K])
    codes, scales = weights(source, (K, N), several=True)
    triple = [
        source.number(codes + 128, np.uint8),
        source.number(scales, np.float32),
        source.number(np.full(N, zero), np.uint8),
    ]
    data = source("DequantizeLinear", source.quantised, *source.pair)
    made = source("MatMul", data, source("DequantizeLinear", *triple, axis=1))
    found, precisions = source.run(made, tmp_path)
    centred = source.codes - source.zero
    expected = centred @ (codes + 128 - zero) * source.scale * scales.astype(np.float64)
    assert (precisions <= {"i8", "u8"}) is integers
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_product_of_two_activations(tmp_path: Path) -> None:
    source = Source([2, 24, 24])
    source.pair = [source.number(0.0517, np.float32), source.number(0, np.int8)]
    data = source("DequantizeLinear", source("QuantizeLinear", "x", *source.pair), *source.pair)
    found, precisions = source.run(source("MatMul", data, data), tmp_path)
    codes = np.clip(np.rint(source.x / np.float32(0.0517)), -128, 127).astype(np.int64)
    assert precisions == {"i8"}
    np.testing.assert_allclose(found, codes @ codes * np.float64(0.0517) ** 2, rtol=1e-5, atol=1e-4)


def test_data_with_a_scale_for_each_channel(tmp_path: Path) -> None:
    """NNCF writes the data of depthwise convolutions in this way; their zero points are equal."""
    source = Source([1, N, 6, 6])
    scales = source.random.uniform(0.03, 0.06, N).astype(np.float32)
    source.pair = [source.number(scales, np.float32), source.number(np.full(N, 121), np.uint8)]
    codes, steps = weights(source, (N, 1, 1, 1), several=True)
    triple = [
        source.number(codes, np.int8),
        source.number(steps, np.float32),
        source.number(np.zeros(N), np.int8),
    ]
    quantised = source("QuantizeLinear", "x", *source.pair, axis=1)
    data = source("DequantizeLinear", quantised, *source.pair, axis=1)
    made = source("Conv", data, source("DequantizeLinear", *triple, axis=0), group=N)
    found, precisions = source.run(made, tmp_path)
    wide = scales[:, None, None]
    limited = np.clip(np.rint(source.x / wide) + 121, 0, 255).astype(np.float64) - 121
    factor = (codes.reshape(-1) * steps.astype(np.float64))[:, None, None]
    assert precisions <= {"i8", "u8"}
    np.testing.assert_allclose(found, limited * wide * factor, rtol=1e-5, atol=1e-5)
