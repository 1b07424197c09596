"""Conversion of ranges, constants, one-hot codes and windows in both directions; the expected
values are OpenVINO's and ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.formats.onnx.reader import from_proto

OPCONF_TYPES = "Eye OneHot Range"

BACKEND_OPS = """
    BlackmanWindow ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix OneHot Range
"""


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


#: Cases that cannot be converted, by a part of the name, with the text of the refusal.
REFUSALS = {"melweight": "its inputs are computed"}


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str,
    opset: int,
    check_import: Callable[[str, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    reason = next((REFUSALS[word] for word in REFUSALS if word in backend_case), None)
    if reason is None:
        check_import(backend_case, opset)
        return
    assert reason in refused(lambda: check_import(backend_case, opset))


#: The upper bound is a known dimension, which is converted to another element type and back.
RANGE_OF_A_DIMENSION = """
<net name="places" version="10">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data shape="5,2" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>5</dim><dim>2</dim></port></output>
    </layer>
    <layer id="1" name="shape" type="ShapeOf" version="opset3">
      <data output_type="{element}"/>
      <input><port id="0"><dim>5</dim><dim>2</dim></port></input>
      <output><port id="1" precision="{precision}"><dim>2</dim></port></output>
    </layer>
    <layer id="2" name="zero" type="Const" version="opset1">
      <data element_type="i64" shape="" offset="0" size="8"/>
      <output><port id="0" precision="I64"/></output>
    </layer>
    <layer id="3" name="one" type="Const" version="opset1">
      <data element_type="i64" shape="" offset="8" size="8"/>
      <output><port id="0" precision="I64"/></output>
    </layer>
    <layer id="4" name="size" type="Gather" version="opset1">
      <input><port id="0"><dim>2</dim></port><port id="1"/><port id="2"/></input>
      <output><port id="3" precision="{precision}"/></output>
    </layer>
    <layer id="5" name="places" type="Range" version="opset4">
      <data output_type="{output}"/>
      <input><port id="0"/><port id="1"/><port id="2"/></input>
      <output><port id="3" precision="{given}"><dim>5</dim></port></output>
    </layer>
    <layer id="6" name="out" type="Result" version="opset1">
      <input><port id="0"><dim>5</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="4" to-port="0"/>
    <edge from-layer="2" from-port="0" to-layer="4" to-port="1"/>
    <edge from-layer="2" from-port="0" to-layer="4" to-port="2"/>
    <edge from-layer="2" from-port="0" to-layer="5" to-port="0"/>
    <edge from-layer="4" from-port="3" to-layer="5" to-port="1"/>
    <edge from-layer="3" from-port="0" to-layer="5" to-port="2"/>
    <edge from-layer="5" from-port="3" to-layer="6" to-port="0"/>
  </edges>
</net>
"""


@pytest.mark.parametrize("output", ["i32", "i64", "f32"])
@pytest.mark.parametrize("element", ["i32", "i64"])
def test_onnxruntime_loads_a_range_of_a_known_dimension(
    element: str, output: str, tmp_path: Path
) -> None:
    import onnxruntime

    text = RANGE_OF_A_DIMENSION.format(
        element=element,
        precision=element.upper(),
        output=output,
        given=output.upper().replace("F32", "FP32"),
    )
    (tmp_path / "model.xml").write_text(text)
    np.array([0, 1]).tofile(tmp_path / "model.bin")
    model, _ = irloop.convert(tmp_path / "model.xml")
    irloop.save_model(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    (found,) = session.run(None, {"x": np.zeros((5, 2), np.float32)})
    assert found.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("shape", "is_constant"), [("8, 8", True), ("5, 13", False)])
def test_a_small_tensor_of_one_number_is_a_constant(shape: str, is_constant: bool) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]> g (float x) => (float[a, b] y) {{
      sizes = Constant <value_ints = [{shape}]> ()
      f = ConstantOfShape <value = float[1] {{2.5}}> (sizes)  y = Mul (f, x) }}"""
    there, _ = irloop.convert(from_proto(onnx.parser.parse_model(text)))
    assert ("Broadcast" not in [node.op.type for node in there.graph.nodes]) is is_constant
