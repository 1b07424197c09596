"""FakeQuantize of 65536 levels (OVN174), rewritten for OpenVINO, against its formula."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.activation import ReLU
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.faults.repairing import repairs
from irloop.passes.manager import Manager

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="OpenVINO is not installed"
)

LIMITS: dict[str, tuple[Any, Any]] = {
    "signed": (-32.768, 32.767),
    "channels": ([[-1.0], [-2.0], [0.0]], [[1.0], [3.0], [0.5]]),
}


def computed(path: Path, x: Any) -> Any:
    import openvino

    compiled = openvino.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled([x])[0]


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("alone", [True, False])
def test_the_formula(kind: str, alone: bool, tmp_path: Path) -> None:
    m = IrModel()
    low, high = LIMITS[kind]
    limits = [m.constant(limit) for limit in (low, high, low, high)]
    x = m.input("x", 2, 3, 40)
    model = m.done(m(FakeQuantize(levels=2**16), x if alone else m(ReLU(), x), *limits))
    Manager(repairs("openvino")).run_passes(model)
    irloop.save_model(model, tmp_path / "m.xml")
    data = np.random.default_rng(0).normal(scale=20, size=(2, 3, 40)).astype(np.float32)
    found = computed(tmp_path / "m.xml", data)
    ends = [np.asarray(limit, np.float64) for limit in (low, high)]
    step = (ends[1] - ends[0]) / (2**16 - 1)
    limited = np.clip(data if alone else np.maximum(data, 0), *ends)
    # Numbers in f32 are rounded to the next step if they are near the middle of two.
    assert (np.abs(found - limited) < 0.51 * step).all()
    codes = (found - ends[0]) / step
    assert np.abs(codes - np.rint(codes)).max() < 0.02


def test_numbers_beyond_the_limits_of_u16_data(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2, 2] x) => (float[2, 2] y)
<float s = {0.001}, uint16 z = {32768}, int8[2, 2] w = {1, 0, 0, 1}, float t = {1.0}> {
  q = QuantizeLinear (x, s, z)  d = DequantizeLinear (q, s, z)
  f = DequantizeLinear (w, t)  y = MatMul (d, f)
}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    irloop.save_model(irloop.convert(tmp_path / "m.onnx")[0], tmp_path / "m.xml")
    found = computed(tmp_path / "m.xml", np.array([[-50, 50], [0.0004, 1.0006]], np.float32))
    np.testing.assert_allclose(found, [[-32.768, 32.767], [0, 1.001]], rtol=1e-6, atol=1e-9)
