"""``--max-same-findings``: the first findings of a code are listed, the others counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import irloop as api
from irloop.diagnostics import Cap, Diagnostic, Severity

Irloop = Callable[..., Result]

EDGE = '<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>\n'
MODEL = """<?xml version="1.0"?>
<net name="n" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>1</dim></port></output></layer>
<layer id="1" name="y" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>1</dim></port></input></layer>
</layers><edges>
{edges}</edges></net>
"""
FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "azure", "rdjson", "summary")


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    """A model in which one edge occurs 251 times, so that IRL206 is reported 250 times."""
    path = tmp_path / "m.xml"
    path.write_text(MODEL.format(edges=EDGE * 251), encoding="utf-8")
    return path


def listed(result: Result) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(result.stdout)["findings"]
    return [item for item in found if item["code"] == "IRL206"]


@pytest.mark.parametrize(("option", "most"), [((), 100), (("--max-same-findings", "7"), 7)])
def test_one_finding_counts_those_that_are_not_listed(
    irloop: Irloop, repeated: Path, option: tuple[str, ...], most: int
) -> None:
    result = irloop("validate", str(repeated), "--format", "json", *option)
    found = listed(result)
    assert result.exit_code == 1
    assert len(found) == most + 1
    assert found[-1]["message"].startswith(f"{250 - most} more of IRL206")
    assert found[-1]["severity"] == "error"


def test_zero_lists_all(irloop: Irloop, repeated: Path) -> None:
    result = irloop("validate", str(repeated), "--format", "json", "--max-same-findings", "0")
    assert len(listed(result)) == 250


def test_the_limit_of_equal_findings_can_be_a_setting(
    irloop: Irloop, repeated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repeated.parent)
    (repeated.parent / "irloop.toml").write_text("max-same-findings = 3\n", encoding="utf-8")
    assert len(listed(irloop("validate", "m.xml", "--format", "json"))) == 4
    (repeated.parent / "irloop.toml").write_text("max-same-findings = true\n", encoding="utf-8")
    refused = irloop("validate", "m.xml")
    assert (refused.exit_code, "not a number of findings" in refused.stderr) == (2, True)


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_is_bounded(irloop: Irloop, repeated: Path, style: str) -> None:
    result = irloop("validate", str(repeated), "--format", style)
    assert result.exit_code == 1
    assert (
        result.stdout.count("already has an edge") <= 101
    )  # JUnit repeats the first finding as the title.
    if style not in ("github", "summary"):  # these formats list fewer findings
        assert "150 more of IRL206" in result.stdout


def test_each_severity_has_its_own_limit() -> None:
    """Milder findings of a code do not hide the error that determines the exit status."""
    cap = Cap(1)
    items = [Diagnostic("IRL1", severity, "") for severity in (Severity.INFO,) * 5]
    items += [Diagnostic("IRL1", Severity.ERROR, "")]
    assert list(filter(cap.wants, items)) == [items[0], items[5]]
    assert [item.severity for item in cap.rest()] == [Severity.INFO]


def test_a_baseline_contains_findings_beyond_the_limit(
    irloop: Irloop, repeated: Path, tmp_path: Path
) -> None:
    known = str(tmp_path / "known.json")
    wrote = irloop("validate", str(repeated), "--baseline", known, "--write-baseline")
    assert wrote.exit_code == 0
    assert "more of IRL206" not in Path(known).read_text(encoding="utf-8")
    assert irloop("validate", str(repeated), "--baseline", known).exit_code == 0
    repeated.write_text(MODEL.format(edges=EDGE * 401), encoding="utf-8")
    grown = irloop("validate", str(repeated), "--baseline", known, "--format", "json")
    assert grown.exit_code == 1
    assert len(listed(grown)) == 101


def test_the_api_lists_all_findings_by_default(repeated: Path) -> None:
    assert len(api.validate(repeated, select=["IRL206"])) == 250
    assert len(api.validate(repeated, select=["IRL206"], max_same_findings=10)) == 11


def test_a_rule_ends_after_ten_thousand_errors(irloop: Irloop, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(MODEL.format(edges=EDGE * 12_001), encoding="utf-8")
    result = irloop("validate", str(path), "--format", "json")
    assert result.exit_code == 1
    assert listed(result)[-1]["message"].startswith("at least 9,900 more of IRL206")
    assert len(api.validate(path, select=["IRL206"])) == 12_000
    assert len(api.validate(path, select=["IRL206"], max_same_findings=11_000)) == 11_001
