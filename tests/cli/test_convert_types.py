"""`irloop convert --type` for inputs of an IR whose element type is dynamic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from irloop import read_model, save_model
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.types import UNKNOWN_SHAPE, ElementType, Shape, TensorType

Irloop = Callable[..., Result]


def test_the_result_is_checked_in_the_type_that_is_given(irloop: Irloop, tmp_path: Path) -> None:
    m = IrModel()
    x = m.input("x", 2, element=ElementType.DYNAMIC)
    source = tmp_path / "m.xml"
    save_model(m.done(m(Add(), x, x)), source)
    output = tmp_path / "m.onnx"
    told = irloop("convert", source, "-o", output, "--type", "x=i64", "--check")
    assert told.exit_code == 0, told.output
    assert "int64[2]: equal" in told.output
    told = irloop("convert", source, "-o", output, "--type", "x=float")
    assert told.exit_code == 2
    assert "no element type is called 'float'" in told.output
    told = irloop("convert", source, "-o", output, "--type", "x")
    assert told.exit_code == 2
    assert "is not an element type such as x=f32" in told.output


def test_the_result_with_an_input_for_each_tensor_of_a_sequence_is_checked(
    irloop: Irloop, tmp_path: Path
) -> None:
    parser = pytest.importorskip("onnx.parser", reason="needs the onnx package")
    text = """<ir_version: 8, opset_import: ["": 17]>
        f (seq(float[2]) x) => (float[n] y) { y = ConcatFromSequence<axis=0>(x) }"""
    source, output = tmp_path / "m.onnx", tmp_path / "m.xml"
    source.write_bytes(parser.parse_model(text).SerializeToString())
    told = irloop("convert", source, "-o", output, "--length", "x=2", "--check")
    assert told.exit_code == 0, told.output
    assert "y float32[4]: equal" in told.output
    assert [node.name for node in read_model(output).graph.parameters] == ["x_0", "x_1"]
    told = irloop("check", source, output, "--length", "x=2", "--engines", "numpy")
    assert told.exit_code == 0, told.output
    assert "y float32[4]: equal" in told.output


def test_an_input_that_gets_a_type_is_preprocessed(irloop: Irloop, tmp_path: Path) -> None:
    m = IrModel()
    x = m.input("x", 2, element=ElementType.DYNAMIC)
    source, output = tmp_path / "m.xml", tmp_path / "m.onnx"
    save_model(m.done(m(Add(), x, x)), source)
    told = irloop("convert", source, "-o", output, "--type", "x=f32", "--mean", "1", "--check")
    assert told.exit_code == 0, told.output
    assert "float32[2]: equal" in told.output


def test_a_shape_is_set_within_a_format(irloop: Irloop, tmp_path: Path) -> None:
    m = IrModel()
    x = m.builder.parameter("x", TensorType(ElementType.F32, UNKNOWN_SHAPE), ("x",))
    source, output = tmp_path / "m.xml", tmp_path / "fixed.xml"
    save_model(m.done(m(Add(), x, x)), source)
    told = irloop("validate", source)
    assert "IRL408" in told.output
    assert "irloop convert MODEL -o NEW.xml --shape x=1,3,?,?" in told.output
    told = irloop("convert", source, "-o", output, "--shape", "x=1,3,?,?")
    assert told.exit_code == 0, told.output
    assert read_model(output).graph.outputs[0].type == TensorType(
        ElementType.F32, Shape.of(1, 3, None, None)
    )
    assert "IRL408" not in irloop("validate", output).output
    told = irloop("convert", source, "-o", output, "--shape", "x=1,3", "--length", "x=2")
    assert told.exit_code == 2
    assert "lengths take effect only in a conversion" in told.output
