"""Constants that no operation converts, of types that the default ONNX opset lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.graph.model import Model
from irloop.graph.types import ElementType

F8, I64 = ElementType.F8E5M2, ElementType.I64


def shape_of_constant() -> Model:
    m = IrModel()
    sizes = m(ShapeOf3(I64), m.constant([[1, 2, 3]], F8))
    return m.done(m(Add(), m.input("x", 2, element=I64), sizes))


def gathered() -> Model:
    m = IrModel()
    at = m.input("at", 2, element=I64)
    part = m(Gather8(), m.constant([1, 2, 3], F8), at, m.constant(0, I64))
    return m.done(part)


def run(path: Path, x: list[int]) -> np.ndarray[Any, Any]:
    onnx.checker.check_model(str(path), full_check=True)
    (found,) = irloop.run(path, [np.array(x)]).values()
    return np.asarray(found)


@pytest.mark.parametrize("opset", [None, 13, 19])
def test_the_shape_of_an_8_bit_constant(opset: int | None, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    irloop.save_model(irloop.convert(shape_of_constant(), opset=opset)[0], path)
    assert run(path, [10, 20]).tolist() == [11, 23]


def test_an_8_bit_constant_chooses_the_opset(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    model, notes = irloop.convert(gathered())
    assert [note.code for note in notes] == ["CNV105"]
    irloop.save_model(model, path)
    found = run(path, [2, 0])
    assert found.dtype == ml_dtypes.float8_e5m2
    assert found.astype(np.float32).tolist() == [3, 1]


def test_an_8_bit_constant_is_refused_where_the_opset_is_given() -> None:
    with pytest.raises(irloop.UnsupportedError, match="opset 19"):
        irloop.convert(gathered(), opset=17)
