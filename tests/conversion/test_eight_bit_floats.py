"""Conversions to 8-bit floats: OpenVINO, irloop's executor, and the ONNX in ONNX Runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert, FakeConvert
from irloop.execution.session import Session
from irloop.graph.model import Model
from irloop.graph.types import ElementType
from tests.conversion.both_engines import needs_engines

pytestmark = needs_engines

E4M3, E5M2 = ElementType.F8E4M3, ElementType.F8E5M2
F16, F32, I32 = ElementType.F16, ElementType.F32, ElementType.I32

#: Numbers near the largest ones, ties, ties only in f16, and subnormal numbers.
EDGES = [
    *(0, -0.0, 1, 1.0625, 1.1875, -1.0625, 440, 448, 449, 463.9, 464, 464.1, 464.3, 480, 500),
    *(57344, 61408, 61430, 61439, 61440, 61441, 65519, 65535, 7e4, 1e30, np.inf, np.nan),
    *(2**-9, 2**-10, 1.5 * 2**-10, 2.0**-17, 1.5 * 2**-17, 0.1, 1.0625 + 2**-15, 2.1251),
]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def numbers(element: ElementType) -> np.ndarray[Any, np.dtype[Any]]:
    drawn = np.random.default_rng(1).normal(size=(2, 2000))
    values = np.concatenate([EDGES, np.negative(EDGES), drawn[0] * np.exp(4 * drawn[1])])
    if element is I32:
        return np.arange(-70000, 70000, 97, dtype=np.int32)
    with np.errstate(all="ignore"):
        return values.astype(element.numpy())


def everywhere(model: Model, given: Any, engines: Engines, folder: Path) -> list[Any]:
    """The outputs of OpenVINO, of irloop, and of ONNX Runtime after conversion."""
    ir, onnx = folder / "model.xml", folder / "model.onnx"
    irloop.save_model(model, ir, ir_version=11)
    irloop.save_model(irloop.convert(ir, opset=19)[0], onnx)
    return [
        engines.run("openvino", ir, [given], folder)[0],
        next(iter(Session(irloop.read_model(ir)).run([given]).values())),
        engines.run("onnxruntime", onnx, [given], folder)[0],
    ]


@pytest.mark.parametrize("source", [F32, F16, I32], ids=lambda item: item.value)
@pytest.mark.parametrize("element", [E4M3, E5M2], ids=lambda item: item.value)
def test_conversions_neither_saturate_nor_round_once(
    element: ElementType, source: ElementType, engines: Engines, tmp_path: Path
) -> None:
    m = IrModel()
    small = m(Convert(element), m.input("x", None, element=source))
    model = m.done(m(Convert(F32), small))
    expected, own, converted = everywhere(model, numbers(source), engines, tmp_path)
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(converted, expected)
    assert not np.isfinite(expected).all()


@pytest.mark.parametrize("element", [E4M3, E5M2], ids=lambda item: item.value)
def test_a_conversion_there_and_back_rounds_as_the_source(
    element: ElementType, engines: Engines, tmp_path: Path
) -> None:
    """0.7185219 is 0.71875 in f16, a tie of f8e4m3; the ONNX model rounds it to f16 first.

    OpenVINO computes f16 in f32, so numbers that exceed the largest finite one only before they are
    rounded differ on the way back. They are left out.
    """
    m = IrModel()
    small = m(Convert(element), m.input("x", None))
    source, there, back = (tmp_path / name for name in ("source.xml", "there.onnx", "back.xml"))
    irloop.save_model(m.done(m(Convert(F32), small)), source, ir_version=11)
    irloop.save_model(irloop.convert(source, opset=19)[0], there)
    irloop.save_model(irloop.convert(there)[0], back, ir_version=11)
    given = np.concatenate([numbers(F32), np.array([0.7185219, 1.4372], np.float32)])
    most = {E4M3: 464, E5M2: 61408}[element]
    with np.errstate(over="ignore"):
        given = given[(np.abs(given) <= most) | (np.abs(given).astype(np.float16) != most)]
    expected, found = (engines.run("openvino", x, [given], tmp_path)[0] for x in (source, back))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("element", [E4M3, E5M2], ids=lambda item: item.value)
def test_fake_convert_saturates(element: ElementType, engines: Engines, tmp_path: Path) -> None:
    m = IrModel()
    scale, shift = m.constant(1.0), m.constant(0.5)
    model = m.done(m(FakeConvert(element), m.input("x", None), scale, shift))
    given = numbers(F32)
    given = given[~np.isnan(given)]
    expected, own, converted = everywhere(model, given, engines, tmp_path)
    np.testing.assert_array_equal(own, expected)
    np.testing.assert_array_equal(converted, expected)
    assert np.isfinite(expected).all()


@pytest.mark.parametrize("element", [E4M3, E5M2], ids=lambda item: item.value)
def test_what_onnx_rounds_once_is_rounded_once(
    element: ElementType, engines: Engines, tmp_path: Path
) -> None:
    """Numbers near a tie that become the tie when they are rounded to f16.

    Below 2^-14, OpenVINO's own conversion to f8e5m2 deviates in the last place.
    """
    small = np.arange(256, dtype=np.uint8).view(element.numpy()).astype(np.float64)
    small = np.unique(small[np.isfinite(small) & (np.abs(small) >= 2**-14)])
    ties = (small[1:] + small[:-1]) / 2
    steps = np.arange(-16, 17, dtype=np.float64)[:, None] * 2.0**-20
    given = (ties * (1 + steps)).astype(np.float32).reshape(-1)
    number = {E4M3: 17, E5M2: 19}[element]
    text = f"""<ir_version: 9, opset_import: ["": 19]>
g (float[n] x) => (float[n] y) {{ s = Cast <to = {number}> (x)  y = Cast <to = 1> (s) }}"""
    (tmp_path / "model.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    irloop.save_model(irloop.convert(tmp_path / "model.onnx")[0], tmp_path / "model.xml")
    expected = engines.run("onnxruntime", tmp_path / "model.onnx", [given], tmp_path)[0]
    found = engines.run("openvino", tmp_path / "model.xml", [given], tmp_path)[0]
    np.testing.assert_array_equal(found, expected)
    own = next(iter(Session(irloop.read_model(tmp_path / "model.xml")).run([given]).values()))
    np.testing.assert_array_equal(own, expected)
