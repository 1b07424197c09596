"""Operation classes are found whether or not their family was imported before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from irloop.dialects import onnx, openvino
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.op import Registry

ROOT = Path(__file__).resolve().parents[2]
DIALECTS = {"onnx": ONNX, "openvino": OPENVINO}


def _output(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout


def test_tables_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs/generate/indexes.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"run python docs/generate/indexes.py\n{run.stdout}{run.stderr}"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_table_of_families_is_complete(dialect: str) -> None:
    families = {"onnx": onnx, "openvino": openvino}[dialect].FAMILIES
    package = f"irloop.dialects.{dialect}"
    described = {(family, name) for family, names in families.items() for name in names.split()}
    found = {
        (cls.__module__.rpartition(".")[2], cls.type)
        for cls in DIALECTS[dialect].all()
        if cls.__module__.rpartition(".")[0] == package
    }
    assert described == found


def test_operations_of_old_and_new_opsets_are_found_in_different_modules() -> None:
    code = (
        "from irloop.dialects.onnx import ONNX;"
        "print(*[ONNX.find('Add', opset).__module__.rpartition('.')[2] for opset in (1, 6, 7)])"
    )
    assert _output(code).split() == ["legacy", "legacy", "elementwise"]


@pytest.mark.parametrize(
    ("dialect", "look_up", "wanted"),
    [
        ("openvino", "OPENVINO.find('aDD', 1)", {"base", "families", "elementwise"}),
        ("onnx", "ONNX.find('CumSum', 14)", {"base", "families", "search"}),
        ("onnx", "onnx.CumSum", {"base", "families", "search"}),
    ],
)
def test_only_the_family_that_is_asked_for_is_imported(
    dialect: str, look_up: str, wanted: set[str]
) -> None:
    code = (
        "import sys; from irloop.dialects import onnx; from irloop.dialects.onnx import ONNX;"
        "from irloop.dialects.openvino import OPENVINO;"
        f"assert {look_up} is not None;"
        f"print(*(n for n in sys.modules if n.startswith('irloop.dialects.{dialect}.')))"
    )
    assert {name.rpartition(".")[2] for name in _output(code).split()} == wanted


@pytest.mark.parametrize("registry", DIALECTS.values())
def test_unknown_type_is_unknown(registry: Registry) -> None:
    assert registry.find("NoSuchOperation", 8) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_class_is_an_attribute_of_its_dialect(dialect: str) -> None:
    code = (
        f"from irloop.dialects import {dialect} as dialect;"
        f"names = {sorted(_own_classes(dialect))!r};"
        "print(*[n for n in names if getattr(dialect, n).__name__ != n])"
    )
    assert not _output(code).strip()


def _own_classes(dialect: str) -> set[str]:
    return {
        cls.__name__
        for cls in DIALECTS[dialect].all()
        if cls.__module__.startswith(f"irloop.dialects.{dialect}.")
    }


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="NoSuch"):
        onnx.NoSuch  # noqa: B018
