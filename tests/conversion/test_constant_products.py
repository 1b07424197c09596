"""OpenVINO refuses to load products of constants and compressed weights; they are folded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop
from benchmarks.engines import Engines
from irloop.formats.onnx import reader
from irloop.graph.op import Constant
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, needs_engines

RANDOM = np.random.default_rng(0)
KINDS = {"u4": TensorProto.UINT4, "i4": TensorProto.INT4, "u8": TensorProto.UINT8}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def model(block: int, kind: str, *, constant: bool) -> onnx.ModelProto:
    """A table, constant or an input, times weights in blocks, added to an input."""
    low = -8 if kind == "i4" else 0
    codes = RANDOM.integers(low, low + 16, 128).tolist()
    table = numpy_helper.from_array(RANDOM.normal(size=(3, 32)).astype(F32), "x")
    scales = numpy_helper.from_array(RANDOM.random((32 // block, 4)).astype(F32), "s")
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0, block_size=block),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["m"]),
        helper.make_node("Add", ["m", "u"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("u", TensorProto.FLOAT, [4])]
    if not constant:
        inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 32]))
    graph = helper.make_graph(
        nodes,
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        [helper.make_tensor("q", KINDS[kind], [32, 4], codes), scales, *[table] * constant],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@needs_engines
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [16, 32])
def test_products_of_constants_and_compressed_weights(
    block: int, kind: str, engines: Engines, tmp_path: Path
) -> None:
    source, target = model(block, kind, constant=True), tmp_path / "m.xml"
    irloop.save_model(irloop.convert(reader.from_proto(source))[0], target)
    codes, scales, table = map(numpy_helper.to_array, source.graph.initializer)
    # ONNX Runtime rounds the operands of such a product to 8 bits, so NumPy computes it.
    weights = codes.astype(F32) * np.repeat(scales, block, 0)
    sets = [[np.arange(4, dtype=F32)], [np.ones(4, F32)]]
    for (given,), (found,) in zip(
        sets, engines.run_all("openvino", target, sets, tmp_path), strict=True
    ):
        np.testing.assert_allclose(found, np.maximum(table, 0) @ weights + given, 1e-5, 1e-5)


@pytest.mark.parametrize("constant", [True, False])
def test_weights_of_other_products_stay_compressed(constant: bool) -> None:
    made, _ = irloop.convert(reader.from_proto(model(16, "u4", constant=constant)))
    ops = [node.op for node in all_nodes(made.graph)]
    elements = {str(op.tensor.element) for op in ops if isinstance(op, Constant)}
    assert ("u4" in elements) is not constant
