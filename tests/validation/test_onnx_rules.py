"""Rules on ONNX models against fixtures in ONNX's own text form.

The first line of a bad fixture says what is expected: ``# expect: ONX301, ONX203``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irloop.validation.engine import validate
from tests.rule_fixtures import RULES, Fixture, fixtures

FIXTURES = fixtures(".txt")
SHARED = Path(__file__).resolve().parents[2].parent / "shared"
#: Models of the corpus that an engine refuses, and the codes that say why.
FAULTS = {
    # ReduceMin takes booleans from opset 20 on; the model is of opset 16.
    "burn_loop_dynamic_cond": {"ONX206"},
    # A second input of Transpose, which OpenVINO passes over.
    "if_branches_with_multiple_outputs": {"ONX104"},
    # An If without inputs and outputs: ONNX Runtime drops it, OpenVINO goes wrong.
    "ort_icm-31000000518483": {"ONX104"},
}


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_fixture(fixture: Fixture, tmp_path: Path) -> None:
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
        # What belongs to the main graph as a whole has no path.
        assert item.location.path or item.code in ("ONX101", "ONX106", "ONX107"), str(item)


def test_place_leads_into_the_body(tmp_path: Path) -> None:
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
        (b"\x08\x08\x12\x04abcd\xff\xff\xff", "no ONNX model"),
    ],
)
def test_what_is_no_model(data: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(data)
    (item,) = validate(file)
    assert item.code == "ONX101"
    assert message in item.message


def test_missing_file(tmp_path: Path) -> None:
    (item,) = validate(tmp_path / "nothing.onnx")
    assert item.code == "ONX101"


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="../shared/corpus is not here")
def test_good_models_have_no_errors() -> None:
    paths = [
        path
        for path in sorted((SHARED / "corpus").glob("*/*/model.onnx"))
        if "negative" not in path.parts[-3]
    ]
    assert paths
    for path in paths:
        errors = {item.code for item in validate(path) if item.severity.value == "error"}
        assert errors == FAULTS.get(path.parent.name, set()), path
