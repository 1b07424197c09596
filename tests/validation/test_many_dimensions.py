"""An array has at most 64 dimensions: more of them are refused wherever a shape occurs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import irloop


def onnx_model(rank: int, place: str) -> onnx.ModelProto:
    """A model with a shape of this rank in one place."""
    declare = helper.make_tensor_value_info
    many = [1] * rank
    x, y = declare("x", TensorProto.FLOAT, [1]), declare("y", TensorProto.FLOAT, None)
    weights = helper.make_tensor("w", TensorProto.FLOAT, many, [1.0])
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    constants: list[onnx.TensorProto] = []
    infos: list[onnx.ValueInfoProto] = []
    if place == "input":
        x = declare("x", TensorProto.FLOAT, many)
    elif place == "output":
        y = declare("y", TensorProto.FLOAT, many)
    elif place == "value_info":
        nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
        infos = [declare("a", TensorProto.FLOAT, many)]
    elif place == "initializer":
        constants, nodes = [weights], [helper.make_node("Add", ["x", "w"], ["y"])]
    elif place == "constant":
        constant = helper.make_node("Constant", [], ["w"], value=weights)
        nodes = [constant, helper.make_node("Add", ["x", "w"], ["y"])]
    elif place == "Reshape":
        shape = numpy_helper.from_array(np.ones(rank, np.int64), "s")
        constants, nodes = [shape], [helper.make_node("Reshape", ["x", "s"], ["y"])]
    elif place == "Expand":
        shape = numpy_helper.from_array(np.ones(rank, np.int64), "s")
        constants, nodes = [shape], [helper.make_node("Expand", ["x", "s"], ["y"])]
    elif place == "Unsqueeze":
        axes = numpy_helper.from_array(np.arange(1, rank, dtype=np.int64), "s")
        constants, nodes = [axes], [helper.make_node("Unsqueeze", ["x", "s"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], constants, value_info=infos)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    "place",
    ["input", "output", "value_info", "initializer", "constant", "Reshape", "Expand", "Unsqueeze"],
)
def test_onnx(place: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx_model(64, place), path)
    assert not irloop.validate(path).has_errors
    onnx.save(onnx_model(65, place), path)
    report = irloop.validate(path)
    assert report.has_errors
    assert "65" in str(next(iter(report.sorted())))
    with pytest.raises(irloop.IrloopError) as raised:
        irloop.convert(path)
    assert not isinstance(raised.value, irloop.InternalError)
    if place not in ("Reshape", "Expand", "Unsqueeze"):
        with pytest.raises(irloop.ReadError, match="65 dimensions"):
            irloop.read_model(path)


def ir_model(rank: int, place: str) -> str:
    """An IR with a shape of this rank in one place; its weights are one f32 and 65 i64."""
    many = "<dim>1</dim>" * rank
    shape = ",".join("1" * rank)
    dims = {item: many if item == place else "<dim>1</dim>" for item in ("Parameter", "port")}
    constant = {"Const": shape}.get(place, "1")
    of_constant = many if place == "Const" else "<dim>1</dim>"
    return f"""<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="{shape if place == "Parameter" else 1}" element_type="f32"/>
<output><port id="0" precision="FP32">{dims["Parameter"]}</port></output></layer>
<layer id="1" name="k" type="Const" version="opset1">
<data element_type="f32" shape="{constant}" offset="0" size="4"/>
<output><port id="0" precision="FP32">{of_constant}</port></output></layer>
<layer id="2" name="a" type="Add" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0" precision="FP32"/><port id="1" precision="FP32"/></input>
<output><port id="2" precision="FP32">{dims["port"]}</port></output></layer>
<layer id="3" name="y" type="Result" version="opset1">
<input><port id="0" precision="FP32"/></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""


@pytest.mark.parametrize(
    ("place", "code"), [("Parameter", "IRL112"), ("Const", "IRL112"), ("port", "IRL113")]
)
def test_ir(place: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.with_suffix(".bin").write_bytes(np.float32(1).tobytes())
    path.write_text(ir_model(64, place))
    assert {item.code for item in irloop.validate(path)}.isdisjoint({"IRL112", "IRL113"})
    path.write_text(ir_model(65, place))
    assert code in {item.code for item in irloop.validate(path)}
    with pytest.raises(irloop.ReadError) as raised:
        irloop.read_model(path)
    assert raised.value.diagnostics[0].code in ("IRL112", "IRL113")


def test_a_rank_that_only_the_inputs_tell(tmp_path: Path) -> None:
    """The shape is an input of the model, so only a run meets the 65 dimensions."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[1] x, int64[n] s) => (float[...] y) { y = Reshape (x, s) }
    """
    text = text.replace("float[...] y", "float y")
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(irloop.ExecutionError):
        irloop.run(tmp_path / "m.onnx", [np.zeros(1, np.float32), np.ones(65, np.int64)])
