"""Without ONNX Runtime and OpenVINO everything works, and the output names the missing checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx.parser
import pytest

#: A folder on the import path that hides both engines; it is loaded before anything else.
HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("onnxruntime", "openvino"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
_real = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name.split(".")[0] in ("onnxruntime", "openvino") else _real(name, package)
importlib.util.find_spec = find_spec
"""

LOOP = """<ir_version: 8, opset_import: ["" : 16]>
m (int64 n, float[2] x) => (float[2] y) {
   y = Loop (n, , x) <body = f (int64 i, bool c, float[2] s) => (bool c, float[2] t) {
      t = Add (s, x)
   }>
}"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(HIDDEN, encoding="utf-8")
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(LOOP).SerializeToString())
    return path


def irloop(source: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    hidden = str(source.parent / "hidden")
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "irloop", *arguments],
        capture_output=True,
        check=False,
        cwd=source.parent,
        env={**os.environ, "PYTHONPATH": hidden},
        text=True,
        timeout=300,
    )


def test_a_checked_conversion_names_the_missing_engines(source: Path) -> None:
    told = irloop(source, "convert", "m.onnx", "-o", "m.xml", "--check")
    assert told.returncode == 0, told.stderr
    assert "not installed: onnxruntime, openvino" in told.stdout + told.stderr
    told = irloop(source, "check", "m.onnx", "m.xml", "--format", "json")
    assert told.returncode == 0, told.stderr
    check = json.loads(told.stdout)["check"]
    assert check["outcome"] == "equal"
    assert check["not_installed"] == ["onnxruntime", "openvino"]
    assert set(check["engines"]) == {"numpy"}


def test_an_engine_that_is_asked_for_by_name_is_refused(source: Path) -> None:
    for command in (
        ("check", "m.onnx", "m.onnx", "--engines", "onnxruntime"),
        ("conformance", "openvino"),
    ):
        told = irloop(source, *command)
        assert told.returncode == 2
        assert "is not installed" in told.stderr
        assert "pip install" in told.stderr


def test_faults_are_known_without_the_engine(source: Path) -> None:
    told = irloop(source, "validate", "m.onnx", "--engine", "onnxruntime")
    assert told.returncode == 0, told.stderr
    told = irloop(source, "conformance", "irloop", "--case", "loop_for")
    assert told.returncode == 0, told.stderr
