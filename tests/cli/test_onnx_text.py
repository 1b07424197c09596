"""ONNX's text format, `.onnxtxt`, wherever a command takes or writes a model."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import Result
from onnx import numpy_helper

import irloop as api
from irloop.errors import WriteError
from irloop.formats.onnx.text_format import parse_text, text_of

Irloop = Callable[..., Result]

HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'
TEXT = (
    HEAD
    + """g (float[2,3] x) => (float[2,3] y)
<float[3] w = {0.1, -1, 2.5}>
{
  # a comment with ((( brackets
  a = Add (x, w)
  y = Relu (a)
}
"""
)
X = np.array([[1, 2, 3], [-4, 0.5, 0]], np.float32)
EXPECTED = np.array([[1.1, 1, 5.5], [0, 0, 2.5]], np.float32)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnxtxt"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize("name", ["n.onnx", "n.xml", "n.onnxtxt"])
def test_a_text_converts_to_every_format_and_back(
    irloop: Irloop, text: Path, tmp_path: Path, name: str
) -> None:
    other, back = tmp_path / name, tmp_path / "back.onnxtxt"
    for source, target in ((text, other), (other, back)):
        result = irloop("convert", source, "-o", target, "--check")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("equal: ")
    assert "Relu" in back.read_text()
    for file in (text, other, back):
        (found,) = api.run(file, {"x": X}).values()
        np.testing.assert_allclose(found, EXPECTED, rtol=1e-6)


def test_every_command_takes_a_text(irloop: Irloop, text: Path, tmp_path: Path) -> None:
    def fine(*arguments: object) -> str:
        result = irloop(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    assert fine("validate", tmp_path) == "no findings in 1 file\n"
    assert "Add 1, Relu 1" in fine("inspect", text)
    assert fine("check", text, text).startswith("equal: 3 of 3 trials ran")
    assert "y: float32[2, 3]" in fine("run", text)
    fine("transform", text, "-o", tmp_path / "t.onnxtxt", "--pass", "dead_code")
    fine("extract", text, "-o", tmp_path / "p.onnxtxt", "--inputs", "a")
    assert fine("diff", text, tmp_path / "t.onnxtxt").startswith("the same")
    fine("view", text, "-o", tmp_path / "v.html")
    assert "Add" not in (tmp_path / "p.onnxtxt").read_text()


def test_a_text_on_the_standard_input(text: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "irloop", "validate", "-"],
        input=text.read_bytes(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"no findings in 1 file\n"), done.stderr


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        (TEXT.replace("(x, w)", "(x, w"), 7, "column 3: Expected character . not found"),
        (TEXT.replace("-1", "1" * 400), None, "out of range"),
        (TEXT.replace("float[3]", "float[99999999999999999999]"), None, "out of range"),
        ("", 1, "Identifier expected"),
        (TEXT.encode().replace(b"Relu", b"\xff\xfe"), None, "not UTF-8"),
        (HEAD + "g (" + "seq(" * 100_000 + "float" + ")" * 100_000 + " x) => () {}", 2, "nested"),
        (HEAD + "g () => () {" + "y = If (c) <b: graph = t () => () {" * 90, 2, "nested|expected"),
    ],
)
def test_a_damaged_text_is_reported_with_its_line(
    irloop: Irloop, tmp_path: Path, content: str | bytes, line: int | None, found: str
) -> None:
    path = tmp_path / "bad.onnxtxt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for arguments in (("validate", path), ("convert", path, "-o", tmp_path / "m.xml")):
        result = irloop(*arguments)
        assert result.exit_code == 1
        place = str(path) if line is None else f"{path}:{line}"
        assert re.search(rf"{re.escape(place)}(:\d+)?: error ONX101", result.stdout), result.stdout
        assert re.search(found, result.stdout), result.stdout
    assert not (tmp_path / "m.xml").exists()


def test_findings_name_the_lines_of_nodes(irloop: Irloop, tmp_path: Path) -> None:
    path = tmp_path / "bad.onnxtxt"
    path.write_text(
        HEAD
        + """g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
  t = Mul (x, w)  # y = Nothing (x)
  [a_name] y =
    If (c) <then_branch: graph = yes () => (float[2] p) {
      q = Relu (t)
      p = Sine (q)
    }, else_branch: graph = no () => (float[2] r) { r = Cosine (t) }>
  u = Tangent (y)
}
"""
    )
    result = irloop("validate", path)
    found = re.findall(r"bad\.onnxtxt:(\d+):.*ONX102.*'(\w+)'", result.stdout)
    assert found == [("7", "Sine"), ("8", "Cosine"), ("9", "Tangent")]
    assert "      9 | u = Tangent (y)" in result.stdout


def _model(array: Any, *, name: str = "w", op: str = "Identity") -> onnx.ModelProto:
    weight = numpy_helper.from_array(array, name)
    out = onnx.helper.make_tensor_value_info("y", weight.data_type, array.shape)
    node = onnx.helper.make_node(op, [name], ["y"], name="n/odd:0")
    graph = onnx.helper.make_graph([node], "g", [], [out], [weight])
    opsets = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1 / 3, 1e-40, np.nan, -np.inf, 16777217], np.float32),
        np.array([1 / 3, 1e-310], np.float64),
        np.array([1 / 3, 65504], np.float16),
        np.array([-(2**63), 2**63 - 1]),
        np.array([2**64 - 1], np.uint64),
        np.array([True, False]),
        np.array([-128, 127], np.int8),
        np.array(["a b", 'quote"', ""], object),
    ],
)
def test_weights_of_every_type_survive(tmp_path: Path, array: Any) -> None:
    path = tmp_path / "w.onnxtxt"
    api.save_model(api.read_model(_model(array, name="a name/with:0")), path)
    (found,) = api.run(path, {}).values()
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_large_weights_go_to_a_file_beside_the_text(irloop: Irloop, tmp_path: Path) -> None:
    array = np.arange(5_000_000, dtype=np.float32)
    path = tmp_path / "big.onnx"
    onnx.save(_model(array), path)
    result = irloop("convert", path, "-o", tmp_path / "big.onnxtxt", "--no-validate")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "big.onnxtxt").stat().st_size < 1000
    (found,) = api.run(tmp_path / "big.onnxtxt", {}).values()
    np.testing.assert_array_equal(found, array)


def test_what_a_text_cannot_express_is_refused() -> None:
    proto = _model(np.ones(2, np.float32))
    assert parse_text(text_of(proto, "m.onnxtxt")).graph.output == proto.graph.output
    proto.training_info.add().algorithm.name = "SGD"
    with pytest.raises(WriteError, match="cannot be written") as error:
        text_of(proto, "m.onnxtxt")
    assert error.value.diagnostics[0].found == "training_info"
