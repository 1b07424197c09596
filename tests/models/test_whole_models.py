"""Whole models in both directions: outputs of the real engines before and after conversion."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

import irloop
from benchmarks.cases import differences
from benchmarks.engines import Engines, check_onnx
from tests.models import MODELS

ENGINES = ("onnxruntime", "openvino")
missing = [name for name in ENGINES if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(name: str, tmp_path: Path) -> Path:
    path = tmp_path / "source.onnx"
    onnx.save(MODELS[name].build(), path)
    return path


def convert(source: Path, target: Path) -> None:
    irloop.save_model(irloop.convert(source)[0], target)


def outcomes(engines: Engines, name: str, path: Path) -> list[list[Any]]:
    engine = "onnxruntime" if path.suffix == ".onnx" else "openvino"
    if path.suffix == ".onnx":
        check_onnx(path)
    sets = MODELS[name].inputs()
    return [engines.run(engine, path, given, path.parent) for given in sets]


def assert_same(wanted: list[list[Any]], found: list[list[Any]]) -> None:
    for number, (want, got) in enumerate(zip(wanted, found, strict=True)):
        assert differences(want, got) == "", f"set {number}"


def test_onnx_to_ir_and_back(name: str, source: Path, engines: Engines, tmp_path: Path) -> None:
    wanted = outcomes(engines, name, source)
    there, back = tmp_path / "there.xml", tmp_path / "back.onnx"
    convert(source, there)
    # Notes about what OpenVINO 2021.4 lacks are not defects.
    found = [item.code for item in irloop.validate(there).diagnostics]
    assert {code for code in found if not code.startswith("IRL90")} == set()
    assert_same(wanted, outcomes(engines, name, there))
    convert(there, back)
    assert_same(wanted, outcomes(engines, name, back))


def test_ir_of_openvino_to_onnx(name: str, source: Path, engines: Engines, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs.xml", tmp_path / "ours.onnx"
    engines.save_as_ir(source, theirs)
    convert(theirs, ours)
    assert_same(outcomes(engines, name, source), outcomes(engines, name, ours))


def test_the_executor_runs_both(name: str, source: Path, engines: Engines, tmp_path: Path) -> None:
    wanted = outcomes(engines, name, source)
    ir = tmp_path / "model.xml"
    convert(source, ir)
    for path in (source, ir):
        found = [list(irloop.run(path, given).values()) for given in MODELS[name].inputs()]
        assert_same(wanted, found)
