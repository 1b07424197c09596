"""The report formats obey the rules that their readers publish.

The rules are stated here, independent of the code: GitLab's page on Code Quality reports,
reviewdog's `reviewdog.proto`, how the agent of Azure Pipelines parses a logging command, and the
JUnit schema of Jenkins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result

Irloop = Callable[..., Result]

#: Characters that end a property, a command or a line, or start an escape.
ODD = "a];b=c%3B%AZP25d,e:f.xml"


@pytest.fixture
def models(halving: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Files with errors, warnings and information; most of their names have special characters."""
    monkeypatch.chdir(tmp_path)
    text = halving.read_text(encoding="utf-8")
    text = text.replace("<layers>", "<layers><surprise/>", 1)
    head, tail = text.rsplit('to-layer="5" to-port="0"', 1)
    Path(ODD).write_text(f'{head}to-layer="5" to-port="7"{tail}', encoding="utf-8")
    weights = halving.with_suffix(".bin").read_bytes()
    Path(ODD).with_suffix(".bin").write_bytes(weights + bytes(16))
    Path("käse & <x>.xml").write_text("<net", encoding="utf-8")
    Path("empty.onnx").write_bytes(b"")
    return (ODD, "käse & <x>.xml", "empty.onnx")


def report_of(irloop: Irloop, models: tuple[str, ...], style: str) -> str:
    result = irloop("validate", *models, "--format", style)
    assert result.exit_code == 1
    return result.stdout


def findings_of(irloop: Irloop, models: tuple[str, ...]) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = json.loads(report_of(irloop, models, "json"))["findings"]
    assert {item["severity"] for item in findings} == {"error", "warning", "info"}
    assert {item["file"] for item in findings} == set(models)
    return findings


def test_gitlab_requires_six_fields_of_each_finding(
    irloop: Irloop, models: tuple[str, ...]
) -> None:
    entries = json.loads(report_of(irloop, models, "gitlab"))
    assert len(entries) == len(findings_of(irloop, models))
    for item in entries:
        for text in (item["description"], item["check_name"], item["fingerprint"]):
            assert isinstance(text, str)
            assert text
        assert item["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert item["location"]["path"] in models
        begin = item["location"]["lines"]["begin"]
        assert isinstance(begin, int)
        assert begin >= 1
    assert len({item["fingerprint"] for item in entries}) == len(entries)


#: The messages of `reviewdog.proto`: the fields and their types.
POSITION = {"line": int, "column": int}
RANGE = {"start": POSITION, "end": POSITION}
SOURCE = {"name": str, "url": str}
DIAGNOSTIC = {
    "message": str,
    "location": {"path": str, "range": RANGE},
    "severity": ("UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"),
    "source": SOURCE,
    "code": {"value": str, "url": str},
    "suggestions": [{"range": RANGE, "text": str}],
    "original_output": str,
}
RESULT = {
    "diagnostics": [DIAGNOSTIC],
    "source": SOURCE,
    "severity": ("UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"),
}


def require_message(found: Any, rule: Any, where: str = "result") -> None:
    if isinstance(rule, Mapping):
        assert set(found) <= set(rule), where
        for name, value in found.items():
            require_message(value, rule[name], f"{where}.{name}")
    elif isinstance(rule, list):
        for at, value in enumerate(found):
            require_message(value, rule[0], f"{where}[{at}]")
    elif isinstance(rule, tuple):
        assert found in rule, where
    else:
        assert type(found) is rule, where


def test_rdjson_is_a_diagnostic_result(irloop: Irloop, models: tuple[str, ...]) -> None:
    report = json.loads(report_of(irloop, models, "rdjson"))
    require_message(report, RESULT)
    assert len(report["diagnostics"]) == len(findings_of(irloop, models))
    for item in report["diagnostics"]:
        assert item["message"]
        assert item["location"]["path"] in models
        # A range must have a start; lines and columns count from 1, and the end is exclusive.
        place = item["location"].get("range")
        if place is not None:
            start, end = place["start"], place.get("end", place["start"])
            assert all(number >= 1 for number in (*start.values(), *end.values()))
            assert tuple(start.values()) <= tuple(end.values())


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """The command, its properties and its data, as the agent of Azure Pipelines reads them."""
    start = line.index("##vso[") + len("##vso[")
    end = line.index("]", start)
    command, _, listed = line[start:end].partition(" ")
    pairs = (item.split("=", 1) for item in listed.split(";") if item)
    return command, {key: unescaped(text) for key, text in pairs}, unescaped(line[end + 1 :])


def unescaped(text: str) -> str:
    for code, char in (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%AZP25", "%")):
        text = text.replace(code, char)
    return text


def test_the_agent_of_azure_reads_each_finding_back(
    irloop: Irloop, models: tuple[str, ...]
) -> None:
    lines = report_of(irloop, models, "azure").splitlines()
    commands = [parsed(line) for line in lines if "##vso[" in line]
    expected = [item for item in findings_of(irloop, models) if item["severity"] != "info"]
    assert len(commands) == len(expected)
    for (command, properties, message), item in zip(commands, expected, strict=True):
        assert command == "task.logissue"
        assert properties.pop("linenumber", None) == (item["line"] and str(item["line"]))
        assert properties == {
            "type": item["severity"],
            "sourcepath": item["file"],
            "code": item["code"],
        }
        assert message == item["message"]


def test_junit_has_the_attributes_that_jenkins_requires(
    irloop: Irloop, models: tuple[str, ...]
) -> None:
    suite = ElementTree.fromstring(report_of(irloop, models, "junit"))  # noqa: S314  our own output
    assert suite.tag == "testsuite"
    assert {"name", "tests", "failures", "errors"} <= set(suite.attrib)
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert [case.get("name") for case in suite] == list(models)
    for case in suite:
        assert case.tag == "testcase"
        assert set(case.attrib) <= {"name", "time", "classname", "group"}
        for part in case:
            assert part.tag in ("failure", "system-out")
            assert set(part.attrib) <= {"type", "message"}
            assert re.search(r"[A-Z]{3}\d{3}", part.text or "")
