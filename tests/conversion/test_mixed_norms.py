"""Layer normalisations of f16 data in f32, which ONNX Runtime fused and refused.

The expected values are OpenVINO's.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import irloop

pytest.importorskip("onnxruntime", reason="runs the converted models")
pytest.importorskip("openvino", reason="gives the expected values")

MODEL = """<ir_version: 8, opset_import: ["" : {opset}]>
g (float16[n, 4] x) => ({kind}[n, 4] y)
<float[4] scale = {{1.0, 2.0, 3.0, 4.0}}, float[4] bias = {{0.5, 0.5, 1.0, -1.0}}> {{
  wide = Cast <to = 1> (x)
  z = LayerNormalization (wide, scale, bias)
  y = {end} (z)
}}"""


@pytest.mark.parametrize(("kind", "end"), [("float", "Identity"), ("float16", "Cast <to = 10>")])
@pytest.mark.parametrize("opset", [15, 17, 18, 21])
def test_data_in_f16_and_scale_in_f32(kind: str, end: str, opset: int, tmp_path: Path) -> None:
    source, ir, back = (tmp_path / name for name in ("m.onnx", "m.xml", "back.onnx"))
    text = MODEL.format(opset=17, kind=kind, end=end)
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    irloop.save_model(irloop.convert(source)[0], ir, ir_version=11)
    irloop.save_model(irloop.convert(ir, opset=opset)[0], back)
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float16)
    sets = [{"x": x}, {"x": x[:1] * 2}, {"x": x[:0]}]
    found = irloop.compare(ir, back, inputs=sets)
    assert found.equal, str(found)
    ran = {item.engine: (item.ran, item.agreed) for item in found.runs}
    assert ran["onnxruntime"] == ran["openvino"] == (3, 3)
