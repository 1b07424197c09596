"""`irloop convert --type` for inputs of an IR whose element type is dynamic."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from irloop import save_model
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.types import ElementType

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
