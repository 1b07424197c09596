"""The formats of ``irloop validate`` that other programs read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from click.testing import Result

Irloop = Callable[..., Result]


@pytest.fixture
def folder(recurrent: Path, halving: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a good model and a model with errors, a warning and information."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "my models"
    place.mkdir()
    for path in (recurrent, halving):
        text = path.read_text(encoding="utf-8")
        name = path.parent.name
        if name == "halving":
            text = text.replace("<layers>", "<layers><surprise/>", 1)
            for layer in (4, 5):
                edge = f'to-layer="{layer}" to-port='
                head, tail = text.rsplit(f'{edge}"0"', 1)
                text = f'{head}{edge}"7"{tail}'
        (place / f"{name}.xml").write_text(text, encoding="utf-8")
        # Bytes that no constant refers to are reported as information.
        spare = bytes(16) if name == "halving" else b""
        (place / f"{name}.bin").write_bytes(path.with_suffix(".bin").read_bytes() + spare)
    return place


def test_sarif(irloop: Irloop, folder: Path) -> None:
    result = irloop("validate", "my models", "--format", "sarif")
    assert result.exit_code == 1
    log = json.loads(result.stdout)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert ids == sorted(set(ids))
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    results = run["results"]
    levels = [item["level"] for item in results]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    assert {"error", "warning", "note"} == set(levels)
    for item in results:
        assert ids[item["ruleIndex"]] == item["ruleId"]
        assert item["message"]["text"]
        (location,) = item["locations"]
        physical = location["physicalLocation"]
        uri = physical["artifactLocation"]["uri"]
        assert re.fullmatch(r"[\w./%-]+", uri)
        assert os.path.exists(unquote(uri))
        assert physical["region"]["startLine"] >= 1
        assert re.fullmatch(r"[0-9a-f]{32}", item["partialFingerprints"]["irloop/v1"])


def test_sarif_recognises_a_finding_after_its_line_moved(irloop: Irloop, folder: Path) -> None:
    def fingerprints() -> list[str]:
        log = json.loads(irloop("validate", "my models", "--format", "sarif").stdout)
        results = log["runs"][0]["results"]
        return [item["partialFingerprints"]["irloop/v1"] for item in results]

    before = fingerprints()
    path = folder / "halving.xml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("<layers>", "<layers>\n\n\n", 1), encoding="utf-8")
    assert fingerprints() == before


def test_a_sarif_report_without_findings_is_valid(irloop: Irloop, folder: Path) -> None:
    result = irloop("validate", "my models/recurrent.xml", "--format", "sarif")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["runs"][0]["results"] == []


@pytest.mark.parametrize(("worst", "failing"), [("error", 2), ("warning", 3)])
def test_junit(irloop: Irloop, folder: Path, worst: str, failing: int) -> None:
    result = irloop("validate", "my models", "--format", "junit", "--fail-on", worst)
    assert result.exit_code == 1
    suite = ElementTree.fromstring(result.stdout)  # noqa: S314  our own output
    assert (suite.tag, suite.get("tests"), suite.get("failures")) == ("testsuite", "2", "1")
    bad, good = suite
    assert bad.get("name") == os.path.join("my models", "halving.xml")
    failure = bad.find("failure")
    assert failure is not None
    assert f"and {failing - 1} more" in (failure.get("message") or "")
    assert (failure.text or "").count("IRL203") == 2
    assert bad.find("system-out") is not None
    assert list(good) == []


def test_github_annotations(irloop: Irloop, folder: Path) -> None:
    result = irloop("validate", "my models", "--format", "github")
    assert result.exit_code == 1
    *commands, summary = result.stdout.splitlines()
    assert summary.startswith("2 errors, 1 warning")
    kinds = [command.split()[0] for command in commands]
    assert kinds[:3] == ["::error", "::error", "::warning"]
    first = re.fullmatch(r"::error file=(.*),line=(\d+),title=irloop (IRL\d+)::(.*)", commands[0])
    assert first is not None
    assert first[1] == os.path.join("my models", "halving.xml")
    assert "%0Aexpected: " in first[4]


def test_github_annotations_are_limited_to_ten_of_each_kind(irloop: Irloop, folder: Path) -> None:
    path = folder / "halving.xml"
    text = path.read_text(encoding="utf-8")
    extra = '<edge from-layer="0" from-port="7" to-layer="3" to-port="2"/>\n'
    head, tail = text.rsplit("</edges>", 1)
    path.write_text(f"{head}{extra * 12}</edges>{tail}", encoding="utf-8")
    result = irloop("validate", "my models", "--format", "github", "--select", "IRL203")
    assert result.stdout.count("::error ") == 10
    assert "4 more errors in the report" in result.stdout


def test_file_names_that_are_not_utf8_are_reported(irloop: Irloop, folder: Path) -> None:
    name = os.fsdecode(b"my models/\xff.xml")
    try:
        Path(name).write_text("<net", encoding="utf-8")
    except OSError:
        pytest.skip("the file system takes UTF-8 names only")
    for style in ("text", "json", "sarif", "junit", "github"):
        result = irloop("validate", name, "--format", style)
        assert result.exit_code == 1, style


def test_gitlab(irloop: Irloop, folder: Path) -> None:
    """The report has the keys that GitLab's Code Quality requires."""
    entries = json.loads(irloop("validate", "my models", "--format", "gitlab").stdout)
    assert len(entries) > 2
    assert len({item["fingerprint"] for item in entries}) == len(entries)
    assert {item["severity"] for item in entries} == {"major", "minor", "info"}
    for item in entries:
        assert set(item) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert item["location"]["path"] == "my models/halving.xml"
        assert item["location"]["lines"]["begin"] >= 1
    assert (
        json.loads(irloop("validate", "my models/recurrent.xml", "--format", "gitlab").stdout) == []
    )


def test_azure(irloop: Irloop, folder: Path) -> None:
    """Logging commands in the format that the documentation of Azure Pipelines defines."""
    result = irloop("validate", "my models", "--format", "azure")
    commands = [line for line in result.stdout.splitlines() if line.startswith("##vso[")]
    assert commands
    for line in commands:
        assert re.fullmatch(
            r"##vso\[task\.logissue type=(error|warning);sourcepath=my models/halving\.xml;"
            r"linenumber=\d+;code=IRL\d{3};\][^;\]]+",
            line,
        )


def test_rdjson(irloop: Irloop, folder: Path) -> None:
    """The fields of reviewdog's DiagnosticResult."""
    report = json.loads(irloop("validate", "my models", "--format", "rdjson").stdout)
    assert report["source"]["name"] == "irloop"
    lines = (folder / "halving.xml").read_text(encoding="utf-8").splitlines()
    for item in report["diagnostics"]:
        assert item["severity"] in ("ERROR", "WARNING", "INFO")
        assert item["code"]["value"].startswith("IRL")
        assert item["location"]["path"] == "my models/halving.xml"
        start, end = (item["location"]["range"][side] for side in ("start", "end"))
        assert 1 <= start["line"] == end["line"] <= len(lines)
        assert 1 <= start["column"] < end["column"] <= len(lines[start["line"] - 1].encode()) + 1
