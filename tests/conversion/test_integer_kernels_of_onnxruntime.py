"""Quantised IR as ONNX: the placement of QuantizeLinear for which ONNX Runtime has integer kernels.

The optimised model that a session saves shows which kernels it took. Numbers are compared with the
IR in irloop's executor; a sum near the middle of two codes may be rounded to the other one.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.conversion.quantised.moves import QuantisedMeans
from irloop.dialects.openvino.activation import Sigmoid
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.convolution import Convolution
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.dialects.openvino.reduction import ReduceMean
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.model import Model, Value
from irloop.graph.types import ElementType
from irloop.passes import Manager

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="ONNX Runtime is not installed"
)

#: The step of the results, and of the data, whose zero point is 51.
STEP = 0.0625


class Net(IrModel):
    """An IR whose data are quantised, and whose weights are stored in 8 bits."""

    def __init__(self) -> None:
        super().__init__()
        self.random = np.random.default_rng(5)

    def quantised(self, x: Value) -> Value:
        limits = [self.constant(number * STEP) for number in (-51, 204)] * 2
        return self(FakeQuantize(levels=256), x, *limits)

    def codes(self, *dims: int) -> Value:
        numbers = self.random.integers(-127, 128, dims).astype(np.int8)
        return self(Convert(ElementType.F32), self.constant(numbers, ElementType.I8))

    def weights(self, *dims: int) -> Value:
        scale = self.random.uniform(0.002, 0.006, (dims[0], *[1] * (len(dims) - 1)))
        return self(Multiply(), self.codes(*dims), self.constant(scale))

    def convolved(self, x: Value, weights: Value) -> Value:
        settings: dict[str, Any] = {
            "strides": (1, 1),
            "pads_begin": (0, 0),
            "pads_end": (0, 0),
            "dilations": (1, 1),
        }
        return self(Convolution(**settings), x, weights)


def transposed(m: Net) -> Value:
    x = m.quantised(m.input("x", 2, 5, 16))
    return m.quantised(m(MatMul(transpose_b=True), x, m.weights(8, 16)))


def with_bias(m: Net) -> Value:
    x = m.quantised(m.input("x", 5, 16))
    product = m(MatMul(transpose_b=True), x, m.weights(8, 16))
    return m.quantised(m(Add(), product, m.constant(m.random.standard_normal((1, 8)))))


def of_two_inputs(m: Net) -> Value:
    x = m.quantised(m.input("x", 1, 8, 4, 4))
    branch = m.quantised(m.convolved(x, m.weights(8, 8, 1, 1)))
    joined = m(Concat(axis=1), x, branch)
    return m.quantised(m.convolved(joined, m.weights(4, 16, 1, 1)))


def mean(m: Net) -> Value:
    x = m.quantised(m.input("x", 1, 8, 4, 4))
    axes = m.constant([2, 3], ElementType.I64)
    small = m.quantised(m(ReduceMean(keep_dims=True), x, axes))
    return m.quantised(m.convolved(small, m.weights(4, 8, 1, 1)))


def weights_of_pot(m: Net) -> Value:
    """Before 2021.2, a FakeQuantize followed the weights in 8 bits."""
    x = m.quantised(m.input("x", 1, 8, 4, 4))
    scale = m.random.uniform(0.002, 0.006, (4, 1, 1, 1))
    limits = [m.constant(end) for end in (-127, 127, -127 * scale, 127 * scale)]
    weights = m(FakeQuantize(levels=255), m.codes(4, 8, 1, 1), *limits)
    return m.quantised(m.convolved(x, weights))


#: Each net, and the kernels that ONNX Runtime has for it.
NETS: dict[Callable[[Net], Value], dict[str, int]] = {
    transposed: {"QLinearMatMul": 1},
    with_bias: {"QGemm": 1},
    of_two_inputs: {"QLinearConv": 2, "QLinearConcat": 1},
    mean: {"QLinearGlobalAveragePool": 1, "QLinearConv": 1},
    weights_of_pot: {"QLinearConv": 1},
}


@pytest.mark.parametrize("net", NETS, ids=lambda net: net.__name__)
def test_onnx_runtime_has_integer_kernels(net: Callable[[Net], Value], tmp_path: Path) -> None:
    import onnxruntime

    m = Net()
    model = m.done(net(m))
    irloop.save_model(irloop.convert(model)[0], tmp_path / "m.onnx")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", options)
    kernels = Counter(node.op_type for node in onnx.load(tmp_path / "optimised.onnx").graph.node)
    assert kernels - Counter(QuantizeLinear=1, DequantizeLinear=1) == Counter(NETS[net])
    x = m.random.normal(1, 3, session.get_inputs()[0].shape).astype(np.float32)
    found, wanted = session.run(None, {"x": x})[0], _run(model, x)
    apart = np.abs(np.rint((found - wanted) / STEP))
    assert apart.max() <= 1
    assert np.count_nonzero(apart) <= 2


def test_what_has_no_integer_kernel_costs_nothing(tmp_path: Path) -> None:
    """A convolution before SiLU is computed in f32: two operations read its result.

    So nothing is quantised for it, and ONNX Runtime cannot quantise its weights (ORT119).
    """
    m = Net()
    x = m.quantised(m.input("x", 1, 8, 4, 4))
    joined = m(Concat(axis=1), x, x)
    wide = m.convolved(joined, m.weights(4, 16, 1, 1))
    model = m.done(m.quantised(m(Multiply(), wide, m(Sigmoid(), wide))))
    irloop.save_model(irloop.convert(model)[0], tmp_path / "m.onnx")
    written = Counter(node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node)
    assert written["QuantizeLinear"] == written["DequantizeLinear"] == 2
    assert not written["Max"]


def _run(model: Model, x: Any) -> Any:
    (wanted,) = irloop.run(model, {"x": x}).values()
    return wanted


def test_a_mean_over_the_columns_of_a_matrix_stays() -> None:
    """GlobalAveragePool of a matrix would leave it as it is."""
    text = """<ir_version: 8, opset_import: ["" : 18]>
      g (uint8[2, 3] q) => (uint8[1, 1] y) <float s = {0.5}, uint8 z = {0}, int64[0] none = {}> {
        d = DequantizeLinear (q, s, z)  m = ReduceMean (d, none)  y = QuantizeLinear (m, s, z) }"""
    model = irloop.read_model(onnx.parser.parse_model(text))
    assert not Manager([QuantisedMeans()]).run_passes(model)
