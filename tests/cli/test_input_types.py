"""`--type`, `--shape` and `--dim` of `irloop run` and `irloop check`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import Result
from onnx import TensorProto, helper

import irloop as api
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.types import ElementType

Irloop = Callable[..., Result]


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    """An IR that adds its input, of any element type and two elements, to itself."""
    m = IrModel()
    x = m.input("x", 2, element=ElementType.DYNAMIC)
    api.save_model(m.done(m(Add(), x, x)), tmp_path / "doubled.xml")
    return tmp_path / "doubled.xml"


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """An ONNX model that adds its input of unknown sizes to itself."""
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "columns"]) for name in "xy"
    )
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(model, tmp_path / "twice.onnx")
    return tmp_path / "twice.onnx"


def test_run_makes_inputs_of_the_type_that_is_given(irloop: Irloop, doubled: Path) -> None:
    told = irloop("run", doubled, "--type", "x=i64")
    assert told.exit_code == 0, told.output
    assert "int64[2]" in told.stdout


def test_run_refuses_arrays_of_another_type(irloop: Irloop, doubled: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(2, np.float32))
    told = irloop("run", doubled, "--type", "x=i64", "--inputs", tmp_path / "x.npy")
    assert told.exit_code == 2
    assert "input 'x' does not fit the model" in told.output


def test_run_makes_inputs_of_the_shape_that_is_given(irloop: Irloop, twice: Path) -> None:
    assert "int64[4, 3]" in irloop("run", twice, "--shape", "x=4,3").stdout
    assert "int64[6, 1]" in irloop("run", twice, "--dim", "rows=6", "--dim", "columns=1").stdout
    told = irloop("run", twice, "--dim", "depth=2")
    assert told.exit_code == 2
    assert "no input has a dimension called 'depth'" in told.output


def test_check_runs_with_the_type_that_is_given(
    irloop: Irloop, doubled: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.onnx"
    assert irloop("convert", doubled, "-o", other, "--type", "x=i64").exit_code == 0
    told = irloop("check", doubled, other, "--type", "x=i64")
    assert told.exit_code == 0, told.output
    assert "int64[2]: equal" in told.output
    told = irloop("check", doubled, other, "--type", "z=i64")
    assert told.exit_code == 2
    assert "no input is called 'z'" in told.output


def test_check_runs_with_the_shape_that_is_given(irloop: Irloop, twice: Path) -> None:
    told = irloop("check", twice, twice, "--shape", "x=5,7")
    assert told.exit_code == 0, told.output
    assert "int64[5, 7]: equal" in told.output


def test_run_leaves_the_model_unchanged(doubled: Path) -> None:
    model = api.read_model(doubled)
    found = api.run(model, [[1, 2]], types={"x": "i64"})
    assert [value.tolist() for value in found.values()] == [[2, 4]]
    made = api.random_inputs(model, types={"x": "u8"})
    assert made["x"].dtype == np.uint8
    assert "dynamic" in str(model.graph.inputs[0].type)
