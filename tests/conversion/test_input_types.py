"""Inputs of an IR whose element type is dynamic, as TorchScript leaves them: `--type x=f32`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.graph.model import Model
from irloop.graph.types import ElementType


def doubled(element: ElementType = ElementType.DYNAMIC) -> Model:
    m = IrModel()
    x = m.input("x", 2, element=element)
    return m.done(m(Add(), x, x))


@pytest.mark.parametrize(("name", "dtype"), [("f32", np.float32), ("i64", np.int64)])
def test_the_given_element_type_is_converted(name: str, dtype: type, tmp_path: Path) -> None:
    model, _ = irloop.convert(doubled(), types={"x": name})
    path = tmp_path / "m.onnx"
    irloop.save_model(model, path)
    with Process(engine_of("onnxruntime"), path) as process:
        answer = process.run([np.array([1, -3], dtype)], seconds=60)
    assert answer.outputs is not None, answer
    assert answer.outputs[0].dtype == dtype
    assert answer.outputs[0].tolist() == [2, -6]


def test_the_given_model_is_not_changed() -> None:
    model = doubled()
    before = [str(value.type) for value in model.graph.inputs]
    assert before == ["dynamic[2]"]
    changed, _ = irloop.convert(model, types={"x": "f32"}, shapes={"x": [2]})
    assert [str(value.type) for value in changed.graph.inputs] == ["f32[2]"]
    assert [str(value.type) for value in model.graph.inputs] == before
    m = IrModel()
    x = m.input("x", None)
    model = m.done(m(Add(), x, x))
    irloop.convert(model, shapes={"x": [3]})
    assert [str(value.type) for value in model.graph.inputs] == ["f32[?]"]


def test_types_that_cannot_be_set_are_refused() -> None:
    with pytest.raises(irloop.UsageError, match="has an element type already"):
        irloop.convert(doubled(ElementType.F32), types={"x": "i64"})
    with pytest.raises(irloop.UsageError, match="no input 'y'"):
        irloop.convert(doubled(), types={"y": "f32"})
    with pytest.raises(irloop.UsageError, match="no element type is called 'float'"):
        irloop.convert(doubled(), types={"x": "float"})


@pytest.mark.parametrize("shape", [2, "2", [2.0], [True], [-1], ["n"]])
def test_a_shape_is_a_sequence_of_sizes(shape: Any) -> None:
    with pytest.raises(irloop.UsageError, match="shape of input 'x' is not a sequence of sizes"):
        irloop.convert(doubled(ElementType.F32), shapes={"x": shape})
