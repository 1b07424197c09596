"""Weights stored as f16 and back: graphs, bytes, rounding errors, and that OpenVINO reads them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.openvino import matmul
from irloop.errors import UsageError
from irloop.execution.session import run
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import Manager
from irloop.passes.common import CompressToFp16, DecompressFp16
from tests.passes.openvino_models import after, model_of
from tests.passes.texts import shown

F32 = ElementType.F32
#: 1 + 2^-12 becomes 1, because f16 numbers near 1 are 2^-10 apart.
WEIGHTS = np.tile(np.float32(1 + 2**-12), (8, 8))


def product(weights: Any, element: ElementType = F32) -> Model:
    def build(b: Builder, x: Value) -> Value:
        return b(matmul.MatMul(), x, b.tensor(ArrayTensor(weights, element), "w"))

    return model_of(build, (element, (2, 8)))


def stored(model: Model) -> list[str]:
    ops = [node.op for node in model.graph.nodes]
    return [str(op.tensor.element) for op in ops if isinstance(op, Constant)]


def convert_of(model: Model) -> Node:
    (node,) = [node for node in model.graph.nodes if node.op.type == "Convert"]
    return node


def test_weights_are_stored_as_f16_and_converted_at_their_readers() -> None:
    item = CompressToFp16()
    model = product(WEIGHTS)
    Manager([item], check=True).run_passes(model)
    ones = [[1.0] * 8] * 8
    assert shown(model) == f"w = Convert({ones})\nMatMul = MatMul(x0, w)\n-> MatMul"
    assert [node.name for node in model.graph.nodes] == ["w_compressed", "w", "MatMul"]
    assert convert_of(model).info == {"decompression": {"version": "0"}}
    assert stored(model) == ["f16"]
    assert (item.report.constants, item.report.bytes_saved) == (1, 128)
    assert item.report.largest_error == 2**-12
    assert item.report.summary() == (
        "1 constants stored as f16, 128 bytes less; largest rounding error 0.000244 (in 'w')"
    )
    (got,) = run(model, [np.ones((2, 8), np.float32)]).values()
    np.testing.assert_array_equal(got, np.full((2, 8), 8))
    assert not Manager([CompressToFp16()]).run_passes(model)


@pytest.mark.parametrize(
    "weights",
    [
        np.where(np.arange(64).reshape(8, 8) == 5, np.float32(65520), WEIGHTS),
        np.full((8, 8), np.float32(1e-9)),
    ],
    ids=["too large", "lost to zero"],
)
def test_numbers_that_f16_cannot_express_stay(weights: Any) -> None:
    item = CompressToFp16()
    model = product(weights)
    assert not Manager([item]).run_passes(model)
    assert item.report.kept == ["w"]
    assert item.report.summary() == (
        "0 constants stored as f16, 0 bytes less; 1 kept, with values out of the range of f16: 'w'"
    )


def test_infinities_and_nan_are_f16_numbers() -> None:
    weights = WEIGHTS.copy()
    weights[0, :3] = np.inf, -np.inf, np.nan
    model = after(product(weights), CompressToFp16())
    (constant,) = [node.op for node in model.graph.nodes if isinstance(node.op, Constant)]
    np.testing.assert_array_equal(constant.tensor.numpy()[0, :4], [np.inf, -np.inf, np.nan, 1])


def test_small_constants_stay() -> None:
    model = product(WEIGHTS)
    assert not Manager([CompressToFp16(65)]).run_passes(model)
    assert Manager([CompressToFp16(64)]).run_passes(model)
    with pytest.raises(UsageError, match="least is -1"):
        CompressToFp16(-1)


def test_doubles_come_back_as_doubles() -> None:
    model = after(product(WEIGHTS.astype(np.float64), ElementType.F64), CompressToFp16())
    assert str(convert_of(model).output.type) == "f64[8,8]"


def test_f16_constants_are_cast_in_onnx() -> None:
    builder = Builder(Graph("g"))
    x = builder.parameter("x", TensorType(F32, Shape.of(2, 8)))
    weights = builder.tensor(ArrayTensor(WEIGHTS, F32), "w")
    builder.result(builder(onnx_matmul.MatMul(), x, weights), "y")
    model = after(Model(builder.graph, "onnx", 8, {"": 17}), CompressToFp16())
    ones = [[1.0] * 8] * 8
    assert shown(model) == f"w = Cast({ones})\nMatMul = MatMul(x, w)\n-> MatMul"
    assert stored(model) == ["f16"]


def test_f16_and_back_rounds_the_weights() -> None:
    model = after(after(product(WEIGHTS), CompressToFp16()), DecompressFp16())
    assert shown(model).startswith("MatMul = MatMul(x0, ")
    (constant,) = [node.op for node in model.graph.nodes if isinstance(node.op, Constant)]
    np.testing.assert_array_equal(constant.tensor.numpy(), np.ones((8, 8), np.float32))


OPENVINO = """
import sys
import openvino
model = openvino.Core().read_model(sys.argv[1])
kinds = [(op.get_type_name(), dict(op.get_rt_info())) for op in model.get_ops()]
print([sorted(info) for kind, info in kinds if kind == "Convert"])
compiled = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
import numpy
print(compiled(numpy.ones((2, 8), numpy.float32))[0].tolist())
"""


def test_openvino_treats_f16_constants_as_compressed_weights(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    model = after(product(WEIGHTS), CompressToFp16())
    path = tmp_path / "model.xml"
    irloop.save_model(model, path, ir_version=11)
    assert path.with_suffix(".bin").stat().st_size == 128
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OPENVINO, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    marks, numbers = done.stdout.splitlines()[-2:]
    assert "decompression" in marks
    assert numbers == str([[8.0] * 8] * 2)


def test_constants_with_the_same_name_get_separate_casts() -> None:
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(64, 64)), ("x",))
    for _ in range(2):
        tensor = ArrayTensor(np.eye(64, dtype=np.float32), ElementType.F32)
        x = b(onnx_matmul.MatMul(), x, b.graph.add_constant(tensor, "anon"), name="product")
    b.result(x, "y")
    model = Model(b.graph, "onnx", 8, {"": 17})
    assert Manager([CompressToFp16()]).run_passes(model)
    casts = [node.name for node in model.graph.nodes if node.op.type == "Cast"]
    assert len(casts) == len(set(casts)) == 2
