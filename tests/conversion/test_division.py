"""Quotients of negative integers: OpenVINO, irloop's executor, and the ONNX in ONNX Runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add, Divide, Multiply
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.execution.session import Session
from irloop.graph.model import Model
from irloop.graph.types import ElementType
from tests.conversion.both_engines import needs_engines

pytestmark = needs_engines

I32, I64 = ElementType.I32, ElementType.I64

LEFT, RIGHT = [7, -7, 7, -7, -8, 8], [2, 2, -2, -2, 2, -2]

#: Computed by hand: rounded toward zero, and toward minus infinity.
TRUNCATED, FLOORED = [3, -3, -3, 3, -4, -4], [3, -4, -4, 3, -4, -4]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def quotient(element: ElementType, python: bool, constants: str) -> tuple[Model, list[Any]]:
    """x / y, where the operands named in `constants` are constants; added to zeros in `z`."""
    m = IrModel()
    given, operands = [], []
    for name, numbers in (("x", LEFT), ("y", RIGHT)):
        if name in constants:
            operands.append(m.constant(numbers, element))
            continue
        operands.append(m.input(name, 6, element=element))
        given.append(np.array(numbers, element.numpy()))
    zeros = m.input("z", 6, element=element)
    given.append(np.zeros(6, element.numpy()))
    return m.done(m(Add(), m(Divide(m_pythondiv=python), *operands), zeros)), given


def everywhere(model: Model, given: list[Any], engines: Engines, folder: Path) -> list[list[int]]:
    """The output in OpenVINO, in irloop, after folding, and in ONNX Runtime after conversion."""
    ir, onnx = folder / "model.xml", folder / "model.onnx"
    irloop.save_model(model, ir, ir_version=11)
    irloop.save_model(irloop.convert(ir)[0], onnx)
    folded, _ = irloop.transform(ir, ["constant_folding"])
    found = [
        engines.run("openvino", ir, given, folder),
        list(Session(irloop.read_model(ir)).run(given).values()),
        list(Session(folded).run(given).values()),
        engines.run("onnxruntime", onnx, given, folder),
    ]
    return [outputs[0].tolist() for outputs in found]


@pytest.mark.parametrize("constants", ["", "x", "y"])
@pytest.mark.parametrize("python", [True, False])
@pytest.mark.parametrize("element", [I32, I64], ids=lambda item: item.value)
def test_quotients_are_truncated_whatever_the_attribute(
    element: ElementType, python: bool, constants: str, engines: Engines, tmp_path: Path
) -> None:
    model, given = quotient(element, python, constants)
    assert everywhere(model, given, engines, tmp_path) == [TRUNCATED] * 4


@pytest.mark.parametrize(("python", "expected"), [(True, FLOORED), (False, TRUNCATED)])
@pytest.mark.parametrize("element", [I32, I64], ids=lambda item: item.value)
def test_quotients_of_constants_follow_the_attribute(
    element: ElementType, python: bool, expected: list[int], engines: Engines, tmp_path: Path
) -> None:
    model, given = quotient(element, python, "xy")
    assert everywhere(model, given, engines, tmp_path) == [expected] * 4


@pytest.mark.parametrize(("size", "expected"), [(7, -4), (None, -3)])
def test_sizes_are_constants_where_the_shape_is_known(
    size: int | None, expected: int, engines: Engines, tmp_path: Path
) -> None:
    m = IrModel()
    x = m.input("x", size, element=I64)
    negative = m(Multiply(), m(ShapeOf3(I64), x), m.constant([-1], I64))
    half = m(Divide(), negative, m.constant([2], I64))
    model = m.done(m(Add(), x, half))
    given = [np.zeros(7, np.int64)]
    assert everywhere(model, given, engines, tmp_path) == [[expected] * 7] * 4


@pytest.mark.parametrize("element", [ElementType.F32, ElementType.F64])
def test_a_reciprocal_is_rounded_before_it_is_multiplied(
    element: ElementType, engines: Engines, tmp_path: Path
) -> None:
    """ONNX Runtime rewrites (1 / x) * y as y / x; for many numbers that is another number."""
    x, y = np.random.default_rng(5).uniform(1, 100, (2, 400)).astype(element.numpy())
    exact = (1 / x) * y
    assert (exact != y / x).any()
    m = IrModel()
    inputs = [m.input(name, 400, element=element) for name in ("x", "y")]
    model = m.done(m(Multiply(), m(Divide(), m.constant(1, element), inputs[0]), inputs[1]))
    onnx = tmp_path / "model.onnx"
    irloop.save_model(irloop.convert(model)[0], onnx)
    (found,) = engines.run_all("onnxruntime", onnx, [[x, y]], tmp_path)
    assert found[0].tolist() == exact.tolist()
