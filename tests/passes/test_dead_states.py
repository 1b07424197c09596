"""Dead states of ONNX Loops: below opset 11 the standard requires at least one state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop

#: The body returns its state unchanged; the scan output doubles x in each iteration.
TEXT = """
<ir_version: 5, opset_import: ["" : {opset}]>
g (int64 trip, bool go, float[2] x) => (float[n, 2] z) {{
  last, z = Loop (trip, go, x) <body = b (int64 i, bool ci, float[2] s)
    => (bool co, float[2] s, float[2] y) {{
    co = Identity (ci)
    y = Add (x, x)
  }}>
}}
"""


@pytest.mark.parametrize(("opset", "states"), [(9, 1), (10, 1), (11, 0), (17, 0)])
def test_a_loop_keeps_one_state_below_opset_11(tmp_path: Path, opset: int, states: int) -> None:
    source, path = tmp_path / "source.onnx", tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(TEXT.format(opset=opset)).SerializeToString())
    model, _ = irloop.transform(source, ["dead_code"], verify=True)
    (loop,) = (node for node in model.graph.nodes if node.bodies)
    _condition, *others = loop.bodies[0].ports.carried
    assert len(others) == states
    irloop.save_model(model, path)
    onnx.checker.check_model(str(path), full_check=True)
    ort = pytest.importorskip("onnxruntime", reason="needs the onnxruntime package")
    session = ort.InferenceSession(str(path))
    for trip in (2, 0, 3):
        x = np.array([1, -2], np.float32)
        (found,) = session.run(None, {"trip": np.array(trip), "go": np.array(True), "x": x})
        assert found.tolist() == [[2, -4]] * trip
