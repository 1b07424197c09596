"""A name that has to change never becomes the name of another value of the model."""

from __future__ import annotations

import struct
from pathlib import Path

import onnx

import irloop
from irloop.graph.walk import all_graphs

#: Both branches define t_1. A renamed one must not be called t_2 or t_3, as other values are.
BRANCHES = """<ir_version: 8, opset_import: ["" : 17]>
m (bool c, float[2] x) => (float[2] y) {
   u = If (c) <
      then_branch = yes () => (float[2] t_1) { t_1 = Tanh (x) },
      else_branch = no () => (float[2] t_3) { t_1 = Neg (x)  t_3 = Cos (t_1) }
   >
   t_2 = Exp (u)
   y = Sin (t_2)
}
"""

#: The body defines a name of the outer graph again.
SHADOWED = """<ir_version: 8, opset_import: ["" : 17]>
m (int64 n, float[2] x) => (float[2] y) {
   t_1 = Exp (x)
   s = Loop (n, , t_1) <body = b (int64 i, bool c, float[2] t_0) => (bool c, float[2] t_2) {
      t_1 = Tanh (t_0)
      t_2 = Neg (t_1)
   }>
   y = Sin (s)
}
"""


def saved(text: str, path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def operations(model: irloop.Model) -> dict[str, str]:
    """The type of the operation that produces each value, by name."""
    return {
        value.name: node.op.type
        for graph in all_graphs(model.graph)
        for node in graph.nodes
        for value in node.outputs
    }


def test_a_renamed_layer_has_no_name_of_another(tmp_path: Path) -> None:
    model, _ = irloop.convert(irloop.read_model(saved(BRANCHES, tmp_path / "m.onnx")))
    layers = {node.name: node.op.type for graph in all_graphs(model.graph) for node in graph.nodes}
    assert layers.pop("t_1_1") == "Negative"
    assert {name: layers[name] for name in ("t_1", "t_2", "t_3")} == {
        "t_1": "Tanh",
        "t_2": "Exp",
        "t_3": "Cos",
    }


def test_a_renamed_value_of_onnx_has_no_name_of_another(tmp_path: Path) -> None:
    model = irloop.read_model(saved(SHADOWED, tmp_path / "m.onnx"))
    irloop.save_model(model, tmp_path / "again.onnx")
    found = operations(irloop.read_model(tmp_path / "again.onnx"))
    assert found.pop("t_1_1") == "Tanh"
    assert (found["t_1"], found["t_2"]) == ("Exp", "Neg")


#: A resize to the size that its input has.
RESIZE = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1">
  <data shape="1,1,2,2" element_type="f32"/>
  <output><port id="0" precision="FP32" names="x">DIMS</port></output></layer>
<layer id="1" name="sizes" type="Const" version="opset1">
  <data element_type="i64" shape="2" offset="0" size="16"/>
  <output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="2" name="scales" type="Const" version="opset1">
  <data element_type="f32" shape="2" offset="16" size="8"/>
  <output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="3" name="axes" type="Const" version="opset1">
  <data element_type="i64" shape="2" offset="24" size="16"/>
  <output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="4" name="y" type="Interpolate" version="opset4">
  <data mode="nearest" shape_calculation_mode="sizes"/>
  <input><port id="0">DIMS</port><port id="1"><dim>2</dim></port><port id="2"><dim>2</dim></port>
    <port id="3"><dim>2</dim></port></input>
  <output><port id="4" precision="FP32" names="y">DIMS</port></output></layer>
<layer id="5" name="r" type="Result" version="opset1">
  <input><port id="0">DIMS</port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="4" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="4" to-port="1"/>
<edge from-layer="2" from-port="0" to-layer="4" to-port="2"/>
<edge from-layer="3" from-port="0" to-layer="4" to-port="3"/>
<edge from-layer="4" from-port="4" to-layer="5" to-port="0"/>
</edges></net>
""".replace("DIMS", "<dim>1</dim><dim>1</dim><dim>2</dim><dim>2</dim>")
SIZES = struct.pack("<2q2f2q", 2, 2, 1, 1, 2, 3)


def test_an_output_keeps_its_name_if_nothing_is_left_of_its_operation(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(RESIZE)
    (tmp_path / "m.bin").write_bytes(bytes(SIZES))
    model, _ = irloop.convert(tmp_path / "m.xml", "onnx")
    irloop.save_model(model, tmp_path / "m.onnx")
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert [item.name for item in graph.output] == ["y"]
    assert [node.op_type for node in graph.node] == ["Identity"]
