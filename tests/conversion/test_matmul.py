"""Conversion of matrix products in both directions; expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irloop

OPCONF_TYPES = "MatMul Einsum Inverse ScaledDotProductAttention"

BACKEND_OPS = "MatMul Gemm Einsum Det"


@pytest.mark.parametrize("opset", [12, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


#: Only the ranks are known, as in models of OpenVINO's PyTorch frontend.
OPEN_ATTENTION = """
<net name="attention" version="11">
  <layers>
    {parameters}
    <layer id="3" name="attention" type="ScaledDotProductAttention" version="opset13">
      <data causal="{causal}"/>
      <input>{inputs}</input>
      <output><port id="3" precision="FP32"><dim>-1</dim><dim>-1</dim><dim>-1</dim></port></output>
    </layer>
    <layer id="4" name="out" type="Result" version="opset1">
      <input><port id="0"><dim>-1</dim><dim>-1</dim><dim>-1</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="3" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="3" to-port="1"/>
    <edge from-layer="2" from-port="0" to-layer="3" to-port="2"/>
    <edge from-layer="3" from-port="3" to-layer="4" to-port="0"/>
  </edges>
</net>
"""
PARAMETER = """
    <layer id="{at}" name="in{at}" type="Parameter" version="opset1">
      <data shape="?,?,?" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>-1</dim><dim>-1</dim><dim>-1</dim></port></output>
    </layer>"""


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_a_width_known_late(causal: bool, tmp_path: Path) -> None:
    import onnxruntime

    port = '<port id="{}"><dim>-1</dim><dim>-1</dim><dim>-1</dim></port>'
    text = OPEN_ATTENTION.format(
        parameters="".join(PARAMETER.format(at=at) for at in range(3)),
        inputs="".join(port.format(at) for at in range(3)),
        causal=str(causal).lower(),
    )
    (tmp_path / "model.xml").write_text(text)
    model, _ = irloop.convert(tmp_path / "model.xml")
    irloop.save_model(model, tmp_path / "model.onnx")
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=(2, n, 9)).astype(np.float32) for n in (4, 5, 5))
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"in0": query, "in1": key, "in2": value})
    scores = np.einsum("bqd,bkd->bqk", query, key) / 3
    if causal:
        scores[:, ~np.tril(np.ones((4, 5), bool))] = -np.inf
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(found, weights @ value, rtol=1e-5, atol=1e-6)
