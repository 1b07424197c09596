"""Weights in 4-bit and 8-bit groups, as compression tools write them, in both directions.

The expected values are the products of weights unpacked by hand.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop
from irloop.conversion import pipelines
from irloop.dialects.openvino import convert, elementwise, matmul, shape
from irloop.execution.session import run
from irloop.formats.onnx.reader import from_proto
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType, element_type_of

Array = np.ndarray[Any, np.dtype[Any]]

ROWS, GROUPS, SIZE = 8, 4, 16
COLUMNS = GROUPS * SIZE
RANDOM = np.random.default_rng(7)
X: Array = RANDOM.standard_normal((3, COLUMNS)).astype(np.float32)

#: The numbers that the codes of nf4 represent (QLoRA, appendix E).
NF4 = [
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
    -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
]  # fmt: skip


@dataclass(frozen=True)
class Weights:
    """Codes [rows, groups, size] of an element type, the numbers they encode, scale, zero point."""

    element: ElementType
    codes: Array
    values: Array
    scale: Array
    zero: Array | None = None

    @property
    def whole(self) -> Array:
        """The weights [rows, columns] in f32."""
        zero = 0 if self.zero is None else self.zero.astype(np.float32)
        unscaled = self.values.astype(np.float32) - zero
        return (unscaled * self.scale.astype(np.float32)).reshape(ROWS, COLUMNS)


def integers(kind: Any, low: int, high: int, *, zero: bool) -> Weights:
    codes = RANDOM.integers(low, high + 1, (ROWS, GROUPS, SIZE)).astype(kind)
    zeros = RANDOM.integers(low, high + 1, (ROWS, GROUPS, 1)).astype(kind) if zero else None
    scale = RANDOM.random((ROWS, GROUPS, 1)).astype(np.float32) / high
    return Weights(element_type_of(codes.dtype), codes, codes.astype(np.float32), scale, zeros)


def floats(kind: Any) -> Weights:
    codes = RANDOM.standard_normal((ROWS, GROUPS, SIZE)).astype(kind)
    scale = RANDOM.random((ROWS, GROUPS, 1)).astype(np.float32)
    return Weights(element_type_of(codes.dtype), codes, codes.astype(np.float32), scale)


def normal_floats() -> Weights:
    codes = RANDOM.integers(0, 16, (ROWS, GROUPS, SIZE)).astype(np.uint8)
    scale = RANDOM.random((ROWS, GROUPS, 1)).astype(np.float32)
    return Weights(ElementType.NF4, codes, np.array(NF4, np.float32)[codes], scale)


WEIGHTS = {
    "u4": integers(ml_dtypes.uint4, 0, 15, zero=True),
    "i4": integers(ml_dtypes.int4, -8, 7, zero=False),
    "u8": integers(np.uint8, 0, 255, zero=True),
    "i8": integers(np.int8, -128, 127, zero=True),
    "nf4": normal_floats(),
    "f8e4m3": floats(ml_dtypes.float8_e4m3fn),
    "f8e5m2": floats(ml_dtypes.float8_e5m2),
    "f4e2m1": floats(ml_dtypes.float4_e2m1fn),
    "bf16": floats(ml_dtypes.bfloat16),
}


def grouped_ir(weights: Weights) -> Model:
    """Const -> Convert -> Subtract(Convert) -> Multiply -> Reshape -> MatMul."""
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(3, COLUMNS)))

    def wide(codes: Array) -> Value:
        constant = b.tensor(ArrayTensor(codes, weights.element))
        return b(convert.Convert(ElementType.F32), constant)

    value = wide(weights.codes)
    if weights.zero is not None:
        value = b(elementwise.Subtract(), value, wide(weights.zero))
    value = b(elementwise.Multiply(), value, b.tensor(ArrayTensor(weights.scale)))
    value = b(shape.Reshape(), value, b.i64([ROWS, COLUMNS]))
    b.result(b(matmul.MatMul(transpose_b=True), x, value), "y")
    return Model(b.graph, "openvino", 11)


@pytest.mark.parametrize("opset", [None, 17, 21])
@pytest.mark.parametrize("name", WEIGHTS)
def test_groups_of_an_ir_run_in_onnx_runtime(name: str, opset: int | None, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    weights = WEIGHTS[name]
    wanted = X @ weights.whole.T
    (got,) = run(grouped_ir(weights), [X]).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    path = tmp_path / "model.onnx"
    irloop.save_model(irloop.convert(grouped_ir(weights), opset=opset)[0], path)
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Fusing would let ONNX Runtime quantise the input as well.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": X})[0], wanted, rtol=1e-4, atol=1e-4)


def stored(model: Model) -> set[str]:
    ops = [node.op for node in model.graph.nodes]
    return {str(op.tensor.element) for op in ops if isinstance(op, Constant)}


@pytest.mark.parametrize("name", ["u4", "i4", "f8e4m3", "f8e5m2"])
def test_types_that_the_opset_has_stay_as_small_as_they_are(name: str) -> None:
    assert name in stored(pipelines.to_onnx(grouped_ir(WEIGHTS[name]), opset=21)[0])


@pytest.mark.parametrize("name", ["u4", "i4"])
def test_4_bits_stay_4_bits_unless_an_older_opset_is_asked_for(name: str) -> None:
    model, notes = pipelines.to_onnx(grouped_ir(WEIGHTS[name]))
    assert model.opsets[""] == 21
    assert name in stored(model)
    assert [note.code for note in notes] == ["CNV105"]
    older, _ = pipelines.to_onnx(grouped_ir(WEIGHTS[name]), opset=17)
    assert name not in stored(older)


@pytest.mark.parametrize("name", ["nf4", "f4e2m1"])
@pytest.mark.parametrize(("opset", "codes"), [(17, "u8"), (21, "u4"), (23, "u4"), (None, "u4")])
def test_4_bit_floats_are_stored_as_codes(name: str, opset: int | None, codes: str) -> None:
    model, _ = pipelines.to_onnx(grouped_ir(WEIGHTS[name]), opset=opset)
    large = [
        str(node.op.tensor.element)
        for node in model.graph.nodes
        if isinstance(node.op, Constant) and node.op.tensor.count == ROWS * COLUMNS
    ]
    assert large == [codes]


def blocked_onnx(weights: Weights, *, axis: int, columns: int = COLUMNS) -> onnx.ModelProto:
    """DequantizeLinear in blocks along `axis`, then a product; with fewer columns the last block is
    cut.
    """
    kinds = {"u4": TensorProto.UINT4, "i4": TensorProto.INT4, "u8": TensorProto.UINT8}

    def tensor(name: str, array: Array) -> onnx.TensorProto:
        turned = array if axis == 1 else array.T
        if array.dtype == np.float32:
            return numpy_helper.from_array(np.ascontiguousarray(turned), name)
        numbers = turned.astype(np.int32).reshape(-1).tolist()
        return helper.make_tensor(name, kinds[str(weights.element)], turned.shape, numbers)

    parts = [tensor("w", weights.codes.reshape(ROWS, -1)[:, :columns])]
    parts.append(tensor("s", weights.scale.reshape(ROWS, -1)))
    if weights.zero is not None:
        parts.append(tensor("z", weights.zero.reshape(ROWS, -1)))
    names = [part.name for part in parts]
    nodes = [
        helper.make_node("DequantizeLinear", names, ["d"], axis=axis, block_size=SIZE),
        helper.make_node("Gemm", ["x", "d"], ["y"], transB=axis),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, columns])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, ROWS])
    graph = helper.make_graph(nodes, "g", [x], [y], parts)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


CUT = COLUMNS - 4
BLOCKS = [("u4", 0, COLUMNS), ("u4", 1, COLUMNS), ("u4", 0, CUT), ("u4", 1, CUT)]
BLOCKS += [("i4", 1, COLUMNS), ("i4", 0, CUT), ("u8", 1, COLUMNS), ("u8", 0, CUT)]

OPENVINO = """
import sys
import numpy
import openvino
compiled = openvino.compile_model(
    openvino.Core().read_model(sys.argv[1]), "CPU",
    {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"},
)
numpy.save(sys.argv[3], compiled(numpy.load(sys.argv[2]))[0])
"""


@pytest.mark.parametrize(("name", "axis", "columns"), BLOCKS)
def test_blocks_of_onnx_are_groups_of_an_ir(
    name: str, axis: int, columns: int, tmp_path: Path
) -> None:
    """OpenVINO computes wrong numbers or crashes if 4-bit codes have a scale for each element."""
    pytest.importorskip("openvino")
    weights = WEIGHTS[name]
    wanted = X[:, :columns] @ weights.whole[:, :columns].T
    model, _ = pipelines.to_openvino(from_proto(blocked_onnx(weights, axis=axis, columns=columns)))
    (own,) = run(model, [X[:, :columns]]).values()
    np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-4)
    assert (name in stored(model)) == (columns == COLUMNS or name == "u8")
    path, given, made = (tmp_path / file for file in ("model.xml", "x.npy", "y.npy"))
    irloop.save_model(model, path, ir_version=11)
    np.save(given, X[:, :columns])
    command = [sys.executable, "-W", "ignore", "-c", OPENVINO, *map(str, (path, given, made))]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    np.testing.assert_allclose(np.load(made), wanted, rtol=1e-4, atol=1e-4)
