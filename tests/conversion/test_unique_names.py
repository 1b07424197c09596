"""A name that has to change never becomes the name of another value of the model."""

from __future__ import annotations

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
