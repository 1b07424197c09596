"""`irloop convert --quantization`: the check of a model whose zero points are rounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import irloop as api
from irloop.building.ir_model import IrModel
from irloop.diagnostics import Diagnostic
from irloop.dialects.openvino.elementwise import Multiply
from irloop.dialects.openvino.quantize import FakeQuantize
from irloop.graph.types import ElementType

Irloop = Callable[..., Result]

#: Ten times a number that is quantised in steps of 0.01, with 0 in the middle of two.
LIMITS = (-1.005, 1.545, -1.005, 1.545)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    m = IrModel()
    x = m.input("x", 4, 50, element=ElementType.DYNAMIC)
    y = m(FakeQuantize(levels=256), x, *(m.constant(limit) for limit in LIMITS))
    api.save_model(m.done(m(Multiply(), y, m.constant(10.0))), tmp_path / "m.xml")
    return tmp_path / "m.xml"


def test_the_check_proves_all_but_the_rounding_and_tells_its_effect(
    irloop: Irloop, source: Path
) -> None:
    arguments = ("--type", "x=f32", "--check", "--quantization", "qdq")
    told = irloop("convert", source, "-o", source.with_suffix(".onnx"), *arguments)
    assert told.exit_code == 0, told.output
    assert "moves its numbers by up to 0.005, 0.5 of a step" in told.output
    assert "the rounding moves the output 'out0' by up to 0.05\n" in told.output
    assert "float32[4, 50]: equal" in told.output
    x = np.random.default_rng(0).uniform(-2, 2, (4, 50)).astype(np.float32)
    (y,) = api.run(source.with_suffix(".onnx"), [x]).values()
    low, high, _, _ = LIMITS
    wanted = np.round((np.clip(x, low, high) - low) / 0.01) * 0.01 + low
    np.testing.assert_allclose(np.abs(y / 10 - wanted), 0.005, rtol=0.01)
    told = irloop("check", source, source.with_suffix(".onnx"), "--type", "x=f32")
    assert told.exit_code == 1, told.output


def test_the_report_has_both_notes(irloop: Irloop, source: Path) -> None:
    arguments = ("--type", "x=f32", "--check", "--quantization", "qdq", "--format", "json")
    told = irloop("convert", source, "-o", source.with_suffix(".onnx"), *arguments)
    assert told.exit_code == 0, told.output
    notes = json.loads(told.stdout)["findings"]
    assert [note["code"] for note in notes] == ["CNV115", "CNV115"]
    assert {note["severity"] for note in notes} == {"info"}


def test_exact_rounds_nothing(irloop: Irloop, source: Path) -> None:
    arguments = ("--type", "x=f32", "--check", "--quantization", "exact")
    told = irloop("convert", source, "-o", source.with_suffix(".onnx"), *arguments)
    assert told.exit_code == 0, told.output
    assert "CNV114" in told.output
    assert "CNV115" not in told.output


def test_a_fault_of_the_conversion_is_not_taken_for_rounding(
    irloop: Irloop, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert = api.convert

    def other(*arguments: Any, **options: Any) -> tuple[api.Model, list[Diagnostic]]:
        """The notes of the rounded model, but a model whose numbers are half a step away."""
        _, notes = convert(*arguments, **options)
        return convert(*arguments, **{**options, "quantization": "exact"})[0], notes

    monkeypatch.setattr(api, "convert", other)
    target = source.with_suffix(".onnx")
    arguments = ("--type", "x=f32", "--check", "--quantization", "qdq")
    told = irloop("convert", source, "-o", target, *arguments)
    assert told.exit_code == 1, told.output
    assert not target.exists()
