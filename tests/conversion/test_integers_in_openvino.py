"""Quantised ONNX models as IR: OpenVINO computes their products with integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop
from irloop.graph.walk import all_nodes

openvino = pytest.importorskip("openvino")

STEP = np.float32(0.05)
NUMBERS = np.random.default_rng(0)


def model(product: str, zero: int) -> onnx.ModelProto:
    """Quantised data, times quantised weights with a scale for each channel, quantised again."""
    is_product = product in ("MatMul", "Gemm")
    dims = [8, 16] if is_product else [1, 16, 8, 8]
    shape = (16, 16) if is_product else (16, 1, 3, 3) if product == "depthwise" else (16, 16, 3, 3)
    initializers: dict[str, Any] = {
        "s": np.array(STEP),
        "z": np.array(zero, np.uint8),
        "w": NUMBERS.integers(-127, 128, shape).astype(np.int8),
        "ws": NUMBERS.uniform(0.0005, 0.002, 16).astype(np.float32),
        "wz": np.zeros(16, np.int8),
    }
    settings: dict[str, Any] = {} if is_product else {"pads": [1, 1, 1, 1]}
    if product == "depthwise":
        settings["group"] = 16
    axis = 1 if is_product else 0
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["f"], axis=axis),
        helper.make_node(product if is_product else "Conv", ["d", "f"], ["p"], **settings),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "s", "z"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)],
        [numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def as_ir(proto: onnx.ModelProto, folder: Path) -> Any:
    onnx.save(proto, folder / "m.onnx")
    irloop.save_model(irloop.convert(folder / "m.onnx")[0], folder / "m.xml")
    settings = {"INFERENCE_PRECISION_HINT": "f32"}
    return openvino.Core().compile_model(str(folder / "m.xml"), "CPU", settings)


@pytest.mark.parametrize("product", ["Conv", "depthwise", "MatMul", "Gemm"])
@pytest.mark.parametrize("zero", [0, 128])
def test_products_are_computed_with_integers(product: str, zero: int, tmp_path: Path) -> None:
    compiled = as_ir(model(product, zero), tmp_path)
    kinds = ("Convolution", "MatMul", "FullyConnected")
    precisions = [
        info["runtimePrecision"].astype(str)
        for info in (node.get_rt_info() for node in compiled.get_runtime_model().get_ordered_ops())
        if info["layerType"].astype(str) in kinds
    ]
    assert set(precisions) <= {"u8", "i8"}
    assert len(precisions) == 1


@pytest.mark.parametrize("zero", [0, 3, 128])
def test_codes_differ_by_one_at_most(zero: int, tmp_path: Path) -> None:
    proto = model("Conv", zero)
    compiled = as_ir(proto, tmp_path)
    x = (NUMBERS.standard_normal((1, 16, 8, 8)) * 2).astype(np.float32)
    (y,) = compiled({"x": x}).values()
    (wanted,) = irloop.run(tmp_path / "m.onnx", {"x": x}).values()
    codes = np.abs(np.rint(y / STEP) - np.rint(wanted / STEP))
    assert codes.max() <= 1
    assert (codes > 0).mean() < 0.01


@pytest.mark.parametrize("zero", [4, 128])
def test_numbers_between_two_codes_are_rounded_as_in_onnx(zero: int, tmp_path: Path) -> None:
    """OpenVINO rounds the code, and ONNX the code without its zero point, to an even number."""
    proto = model("Conv", zero)
    for item in proto.graph.initializer:
        if item.name == "s":
            item.CopyFrom(numpy_helper.from_array(np.array(0.5, np.float32), "s"))
        if item.name == "w":
            only = np.zeros((16, 16, 3, 3), np.int8)
            only[range(16), range(16), 1, 1] = 1
            item.CopyFrom(numpy_helper.from_array(only, "w"))
        if item.name == "ws":
            item.CopyFrom(numpy_helper.from_array(np.ones(16, np.float32), "ws"))
    compiled = as_ir(proto, tmp_path)
    x = np.arange(-512, 512, dtype=np.float32).reshape(1, 16, 8, 8) / 4
    (y,) = compiled({"x": x}).values()
    codes = np.clip(np.rint(x / 0.5), -zero, 255 - zero)
    np.testing.assert_array_equal(y, codes * 0.5)


def test_pairs_without_a_product_stay_exact(tmp_path: Path) -> None:
    proto = model("Conv", 3)
    for node in proto.graph.node:
        if node.op_type == "Conv":
            node.op_type, node.input[1:] = "Relu", []
            del node.attribute[:]
    del proto.graph.node[2]
    onnx.save(proto, tmp_path / "m.onnx")
    made, _ = irloop.convert(tmp_path / "m.onnx")
    types = [node.op.type for node in all_nodes(made.graph)]
    assert types.count("FakeQuantize") == 0
    assert types.count("Round") == 2
