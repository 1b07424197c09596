"""Rules for ONNX models, tested with fixtures in ONNX's own text form.

The first line of a bad fixture lists the expected findings: ``# expect: ONX301, ONX203``.
"""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from irloop.diagnostics import Severity
from irloop.validation.engine import validate
from tests.rule_fixtures import RULES, Fixture, fixtures

FIXTURES = fixtures(".txt")
#: Rules whose findings may be about the main graph as a whole.
OF_THE_MODEL = ("ONX101", "ONX106", "ONX107", "ONX108", "ONX109", "ONX110")


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_a_fixture_has_exactly_the_expected_findings(fixture: Fixture, tmp_path: Path) -> None:
    report = validate(fixture.model(tmp_path))
    found = {item.code for item in report}
    if not fixture.is_bad:
        assert fixture.code not in found
        assert not report.has_errors, [str(item) for item in report]
        return
    first = fixture.path.read_text(encoding="utf-8").splitlines()[0]
    match = re.fullmatch(r"# expect: (.*)", first)
    assert match is not None
    assert found == set(match.group(1).split(", ")), [str(item) for item in report]
    for item in report:
        # A finding about the main graph as a whole has no path.
        assert item.location.path or item.code in OF_THE_MODEL, str(item)


def test_the_path_of_a_finding_leads_into_the_body(tmp_path: Path) -> None:
    report = validate(Fixture("ONX202", RULES / "onx202" / "bad_order.onnx.txt").model(tmp_path))
    (item,) = report
    assert item.location.path == "Loop(y)/body/Identity(part)"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "LFS"),
        (b"<html><body>404</body></html>", "web page"),
        (b"<net version='10'/>", "OpenVINO IR"),
        (b"\x08\x08\x12\x04abcd\xff\xff\xff", "not an ONNX model"),
    ],
)
def test_files_that_are_not_models(data: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(data)
    (item,) = validate(file)
    assert item.code == "ONX101"
    assert message in item.message


def test_missing_file(tmp_path: Path) -> None:
    (item,) = validate(tmp_path / "nothing.onnx")
    assert item.code == "ONX101"


def test_a_model_input_of_no_element_type(tmp_path: Path) -> None:
    """The text form cannot express element type 0 (UNDEFINED)."""
    file = tmp_path / "model.onnx"
    undefined = helper.make_tensor_value_info("x", TensorProto.UNDEFINED, [2])
    declared = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [undefined], [declared])
    onnx.save(helper.make_model(graph), file)
    (item,) = validate(file)
    assert item.code == "ONX106"
    assert "element type 0" in item.message


@pytest.mark.parametrize("start", ["", "start"])
def test_untyped_body_inputs_are_warned_of_where_onnxruntime_refuses(
    start: str, tmp_path: Path
) -> None:
    """A session needs the type of the condition, unless the Loop has an initial condition."""
    onnxruntime = pytest.importorskip("onnxruntime")
    file = tmp_path / "model.onnx"
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
g (int64 n, bool start, float[2] x) => (float[2] y) {{
  y = Loop (n, "{start}", x) <body = b (i, c, s) => (bool d, float[2] t) {{
    d = Identity (c)  t = Add (s, s)
  }}>
}}"""
    onnx.save(onnx.parser.parse_model(text), file)
    warned = [item.message for item in validate(file) if item.severity is Severity.WARNING]
    try:
        onnxruntime.InferenceSession(file)
        refused = False
    except Exception as error:
        refused = "does not have type information" in str(error)
    assert warned == (["the body input 'c' has no element type"] if refused else [])
    assert refused == (not start)
