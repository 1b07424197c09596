"""A file that is validated and then read is parsed only once, and the model equals that of the
file.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.files import ParsedOnce
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import source
from irloop.formats.onnx.external import ExternalFiles
from irloop.formats.openvino import reader as ir_reader
from irloop.graph.inference import Inference
from irloop.graph.walk import all_graphs

PORT = '<port id="{0}" precision="FP32"><dim>{1}</dim><dim>3</dim></port>'

#: The sum of an input [2,3] with itself, declared [?,3].
IR = f"""<?xml version="1.0"?>
<net name="sum" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="2,3" element_type="f32"/><output>{PORT.format(0, 2)}</output>
</layer>
<layer id="1" name="add" type="Add" version="opset1">
<input>{PORT.format(0, 2)}{PORT.format(1, 2)}</input><output>{PORT.format(2, -1)}</output>
</layer>
<layer id="2" name="y" type="Result" version="opset1"><input>{PORT.format(0, 2)}</input></layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>
<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>
</edges>
</net>
"""

#: A Loop that adds its input [2] to a state of unknown size.
LOOP = """<ir_version: 8, opset_import: ["" : 16]>
loop (float[2] x, int64 count) => (float[n] y) {
  y = Loop (count, , x) <body = body (int64 i, bool go, float[m] s) => (bool on, float[k] next) {
    on = Identity(go)
    next = Add(s, x)
  }>
}"""


def declared(model: irloop.Model) -> dict[str, str]:
    """The types of all values in all graphs, by name."""
    return {
        f"{graph.name}:{value.name}": str(value.type)
        for graph in all_graphs(model.graph)
        for nodes in (graph.parameters, graph.nodes)
        for node in nodes
        for value in node.outputs
    }


def test_an_ir_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sum.xml"
    file.write_text(IR)
    path = ParsedOnce(file)
    assert not irloop.validate(path).has_errors

    def refuse(*_: object) -> None:
        raise AssertionError("the file was read again")

    with monkeypatch.context() as patched:
        patched.setattr(ir_reader, "read_document", refuse)
        model = irloop.read_model(path)
    assert declared(model) == {"sum:x": "f32[2,3]", "sum:add": "f32[?,3]"}
    x = np.ones((2, 3), np.float32)
    assert (irloop.run(model, {"x": x})["y"] == 2 * x).all()


def test_a_second_reader_gets_a_separate_model(tmp_path: Path) -> None:
    file = tmp_path / "sum.xml"
    file.write_text(IR)
    path = ParsedOnce(file)
    irloop.validate(path)
    first, second = irloop.read_model(path), irloop.read_model(path)
    assert first.graph is not second.graph
    assert declared(second) == {"sum:x": "f32[2,3]", "sum:add": "f32[?,3]"}


def test_a_model_with_other_weights_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "sum.xml"
    file.write_text(IR)
    path = ParsedOnce(file)
    irloop.validate(path)
    assert path.take_model(str(tmp_path / "other.bin")) is None


def test_a_wrong_declaration_is_kept_as_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "sum.xml"
    file.write_text(IR.replace("<dim>-1</dim>", "<dim>5</dim>"))
    path = ParsedOnce(file)
    assert [item.code for item in irloop.validate(path).diagnostics] == ["IRL401"]
    assert declared(irloop.read_model(path)) == {"sum:x": "f32[2,3]", "sum:add": "f32[5,3]"}


def test_an_onnx_model_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "loop.onnx"
    onnx.save(onnx.parser.parse_model(LOOP), file)
    path = ParsedOnce(file)
    with monkeypatch.context() as patched:
        loads: list[Path] = []
        load = source.load

        def counted(at: Path, files: ExternalFiles) -> onnx.ModelProto:
            loads.append(at)
            return load(at, files)

        patched.setattr(source, "load", counted)
        assert not irloop.validate(path).has_errors
        model = irloop.read_model(path, functions=True)
    assert loads == [file]
    types = declared(model)
    assert types["loop:y"] == "f32[n]"
    assert types["body:s"] == "f32[m]"
    assert types["body:next"] == "f32[k]"


def test_a_function_of_the_standard_is_expanded_after_validation(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 22]>
    f (float[2,3] x) => (float[2,3] y) { y = MeanVarianceNormalization <axes = [1]> (x) }"""
    file = tmp_path / "f.onnx"
    onnx.save(onnx.parser.parse_model(text), file)
    path = ParsedOnce(file)
    irloop.validate(path)
    name = "MeanVarianceNormalization"
    model = onnx_reader.read(path, expand=lambda kind, domain: kind == name and not domain)
    assert name not in {node.op.type for node in model.graph.nodes}


def test_inference_restores_the_declared_types_of_bodies_too(tmp_path: Path) -> None:
    file = tmp_path / "loop.onnx"
    onnx.save(onnx.parser.parse_model(LOOP), file)
    model = irloop.read_model(file)
    before = declared(model)
    assert before["body:s"] == "f32[m]"
    inference = Inference()
    inference.run(model.graph)
    # The owner of the body passes the type of x.
    assert declared(model)["body:s"] == "f32[2]"
    assert declared(model) != before
    inference.restore_declared()
    assert declared(model) == before
