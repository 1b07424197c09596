"""``irloop validate``: settings of a project, and baselines of known findings."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Irloop = Callable[..., Result]

GOOD = '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'
BAD = GOOD.replace('from-port="2"', 'from-port="9"')


@pytest.fixture
def project(recurrent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a model whose edge starts at port 9, which does not exist: IRL203."""
    (tmp_path / ".git").mkdir()
    models = tmp_path / "models"
    models.mkdir()
    text = recurrent.read_text(encoding="utf-8")
    assert text.count(GOOD) == 1
    (models / "m.xml").write_text(text.replace(GOOD, BAD), encoding="utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), models / "m.bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settle(project: Path, text: str, name: str = "irloop.toml") -> None:
    (project / name).write_text(text, encoding="utf-8")


def codes(result: Result) -> list[tuple[str, str]]:
    return [(item["code"], item["severity"]) for item in json.loads(result.stdout)["findings"]]


def test_without_settings(irloop: Irloop, project: Path) -> None:
    result = irloop("validate", "models", "--format", "json")
    assert (result.exit_code, codes(result)) == (1, [("IRL203", "error")])


@pytest.mark.parametrize(
    ("name", "head"), [("irloop.toml", ""), ("pyproject.toml", "[tool.irloop]\n")]
)
def test_ignore(irloop: Irloop, project: Path, name: str, head: str) -> None:
    settle(project, head + 'ignore = ["irl203"]\n', name)
    result = irloop("validate", "models")
    assert result.exit_code == 0
    assert result.stdout == f"no findings in 1 file, 1 suppressed by {name}\n"


@pytest.mark.parametrize("text", ['ignore = ["IRL203"]', 'select = ["IRL9"]'])
def test_no_ignore_disregards_settings(irloop: Irloop, project: Path, text: str) -> None:
    settle(project, text)
    result = irloop("validate", "models", "--format", "json")
    assert (result.exit_code, codes(result)) == (0, [])
    (left_out,) = json.loads(result.stdout)["suppressed"]
    assert (left_out["code"], left_out["suppressed_by"]) == ("IRL203", "irloop.toml")
    result = irloop("validate", "models", "--no-ignore", "--format", "json")
    assert (result.exit_code, codes(result)) == (1, [("IRL203", "error")])
    assert json.loads(result.stdout)["suppressed"] == []
    # The user names this file, so it is used.
    assert irloop("validate", "models", "--no-ignore", "--config", "irloop.toml").exit_code == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner on this system")
@pytest.mark.parametrize("name", ["irloop.toml", "pyproject.toml"])
def test_settings_of_another_user_are_not_read(
    irloop: Irloop, project: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "[tool.irloop]\n" if name == "pyproject.toml" else ""
    settle(project, head + 'ignore = ["IRL203"]\n', name)
    assert irloop("validate", "models").exit_code == 0
    owner = (project / name).stat().st_uid
    if owner == 0:
        os.chown(project / name, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert irloop("validate", "models").exit_code == 1


def test_settings_above_a_folder_without_a_repository_are_not_read(
    irloop: Irloop, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(project, 'ignore = ["IRL203"]\n')
    monkeypatch.chdir(project / "models")
    assert irloop("validate", "m.xml").exit_code == 0
    (project / ".git").rmdir()
    assert irloop("validate", "m.xml").exit_code == 1


def test_an_unknown_code_among_ignored_ones_is_an_error(irloop: Irloop, project: Path) -> None:
    settle(project, 'ignore = ["IRL203", "XYZ1"]\n')
    result = irloop("validate", "models")
    assert result.exit_code == 2
    assert "no rule has a code that begins with 'XYZ1'" in result.stderr


@pytest.mark.parametrize("engine", ["module:function", "os:system", "numpy:array", "./evil.py:f"])
def test_settings_cannot_name_code(irloop: Irloop, project: Path, engine: str) -> None:
    settle(project, f'engines = ["{engine}"]\n')
    result = irloop("validate", "models")
    assert result.exit_code == 2
    assert f"no engine '{engine}'" in result.stderr


def test_an_option_overrides_a_setting(irloop: Irloop, project: Path) -> None:
    settle(project, 'ignore = ["IRL203"]\nselect = ["IRL3"]\n')
    result = irloop("validate", "models", "--select", "IRL2", "--ignore", "IRL3")
    assert result.exit_code == 1


def test_a_project_file_without_our_table_is_ignored(irloop: Irloop, project: Path) -> None:
    settle(project, '[project]\ndependencies = ["irloop"]\n', "pyproject.toml")
    assert irloop("validate", "models").exit_code == 1


def test_the_settings_of_the_folder_above_up_to_the_repository(
    irloop: Irloop, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(project, 'ignore = ["IRL203"]\n')
    monkeypatch.chdir(project / "models")
    assert irloop("validate", "m.xml").exit_code == 0
    (project / "models" / ".git").mkdir()
    assert irloop("validate", "m.xml").exit_code == 1


def test_the_most_specific_code_determines_the_severity(irloop: Irloop, project: Path) -> None:
    settle(project, 'severity = {IRL2 = "info", IRL203 = "warning"}\n')
    result = irloop("validate", "models", "--format", "json")
    assert (result.exit_code, codes(result)) == (0, [("IRL203", "warning")])
    assert irloop("validate", "models", "--fail-on", "warning").exit_code == 1
    settle(project, 'fail-on = "warning"\nseverity = {IRL = "info", IRL2 = "warning"}\n')
    assert irloop("validate", "models").exit_code == 1


def test_settings_by_name(irloop: Irloop, project: Path) -> None:
    settle(project, 'ignore = ["IRL203"]\n', "lenient.toml")
    assert irloop("validate", "models").exit_code == 1
    assert irloop("validate", "models", "--config", "lenient.toml").exit_code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("selekt = []", "no setting is called 'selekt'"),
        ("select = 'IRL2'", "select is not a list of codes"),
        ("ignore = [203]", "ignore is not a list of codes"),
        ("fail-on = 'never'", "wrong fail-on"),
        ("fail-on = []", "wrong fail-on"),
        ("baseline = 1", "baseline is not a path"),
        ('baseline = "a\\u0000b"', "baseline is not a path"),
        (f"max-same-findings = {'1' * 5000}", "is not TOML"),
        ("severity = 'error'", "severity is not a table"),
        ("severity = {IRL203 = 'fatal'}", "wrong severity of IRL203"),
        ("severity = {XYZ1 = 'error'}", "begins with 'XYZ1'"),
        ("select = ['XYZ1']", "begins with 'XYZ1'"),
        ("select = [", "is not TOML"),
        (f"select = {'[' * 5000}", "is not TOML"),
    ],
)
def test_wrong_settings_are_refused(irloop: Irloop, project: Path, text: str, said: str) -> None:
    settle(project, text)
    result = irloop("validate", "models")
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_settings_that_take_too_long_to_read(
    irloop: Irloop, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of the 30,000 parts of the key is looked up from the root.
    monkeypatch.setattr("irloop_cli.settings.SECONDS", 0.05)
    settle(project, f"{'.'.join('a' * 30_000)} = 1\n")
    result = irloop("validate", "models")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "takes too much time" in result.stderr


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nirloop = 1"])
def test_a_project_file_without_a_table(irloop: Irloop, project: Path, text: str) -> None:
    settle(project, f"# irloop\n{text}\n", "pyproject.toml")
    assert irloop("validate", "models").exit_code == (1 if text == "tool = 1" else 2)


def test_a_baseline_leaves_known_findings_out(irloop: Irloop, project: Path) -> None:
    result = irloop("validate", "models", "--baseline", "known.json", "--write-baseline")
    left_out = "no findings in 1 file, 1 suppressed by known.json\n"
    assert (result.exit_code, result.stdout) == (0, left_out)
    content = json.loads((project / "known.json").read_text(encoding="utf-8"))
    assert content["schema"] == "irloop-baseline/1"
    (row,) = content["findings"]
    assert (row["code"], row["file"], row["count"]) == ("IRL203", "models/m.xml", 1)
    result = irloop("validate", "models", "--baseline", "known.json")
    assert (result.exit_code, result.stdout) == (0, left_out)


def test_new_findings_fail(irloop: Irloop, project: Path) -> None:
    irloop("validate", "models", "--baseline", "known.json", "--write-baseline")
    model = project / "models" / "m.xml"
    text = model.read_text(encoding="utf-8")
    # One more line above and a second copy of the edge: the old finding moves, and the copy is new.
    model.write_text(text.replace(BAD, f"<!-- -->\n{BAD}{BAD}"), encoding="utf-8")
    result = irloop("validate", "models", "--baseline", "known.json", "--select", "IRL203")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "1 error in 1 file, 1 suppressed by known.json"


def test_the_baseline_does_not_depend_on_the_current_folder(
    irloop: Irloop, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(project, 'baseline = "known.json"\n')
    assert irloop("validate", "models", "--write-baseline").exit_code == 0
    monkeypatch.chdir(project / "models")
    assert irloop("validate", "m.xml").exit_code == 0


def test_findings_that_no_longer_occur_are_reported_and_removed(
    irloop: Irloop, project: Path, recurrent: Path
) -> None:
    shutil.copytree(project / "models", project / "others")
    irloop("validate", "models", "others", "--baseline", "known.json", "--write-baseline")
    shutil.copy(recurrent, project / "models" / "m.xml")
    result = irloop("validate", "models", "--baseline", "known.json")
    assert (result.exit_code, result.stdout) == (0, "no findings in 1 file\n")
    assert "1 known findings no longer occur" in result.stderr
    irloop("validate", "models", "--baseline", "known.json", "--write-baseline")
    rows = json.loads((project / "known.json").read_text(encoding="utf-8"))["findings"]
    # Findings of files that were not checked this time stay known.
    assert [row["file"] for row in rows] == ["others/m.xml"]


#: An integer without an end.
ENDLESS = (
    '{"schema": "irloop-baseline/1", "findings": '
    '[{"code": "A", "file": "m", "path": "p", "message": "m", "count": 1e999}]}'
)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "other", "findings": []}', "\0", "[" * 100_000, ENDLESS]
)
def test_files_that_are_not_baselines_are_refused(irloop: Irloop, project: Path, text: str) -> None:
    (project / "known.json").write_text(text, encoding="utf-8")
    result = irloop("validate", "models", "--baseline", "known.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not a baseline" in result.stderr


def test_a_baseline_that_is_missing_or_not_named(irloop: Irloop, project: Path) -> None:
    result = irloop("validate", "models", "--baseline", "known.json")
    assert result.exit_code == 2
    assert "--write-baseline" in result.stderr
    assert irloop("validate", "models", "--write-baseline").exit_code == 2
    result = irloop("validate", "models", "--baseline", "no/folder.json", "--write-baseline")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no: no such folder" in result.stderr


def test_reports_in_files(irloop: Irloop, project: Path) -> None:
    wished = ("--report", "json=found.json", "--report", "sarif=found.sarif")
    result = irloop("validate", "models", *wished)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "1 error in 1 file"
    assert json.loads((project / "found.json").read_text("utf-8"))["summary"]["errors"] == 1
    (run,) = json.loads((project / "found.sarif").read_text("utf-8"))["runs"]
    assert [item["ruleId"] for item in run["results"]] == ["IRL203"]
    assert sorted(path.name for path in project.glob("found*")) == ["found.json", "found.sarif"]


@pytest.mark.parametrize("text", ["json", "json=", "xls=a.xls", "=a"])
def test_invalid_report_options(irloop: Irloop, project: Path, text: str) -> None:
    result = irloop("validate", "models", "--report", text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "names no format and file" in result.stderr


def test_a_report_that_cannot_be_written(irloop: Irloop, project: Path) -> None:
    result = irloop("validate", "models", "--report", "json=no/folder.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no: no such folder" in result.stderr


def test_changed_files(irloop: Irloop, project: Path) -> None:
    """Weights select their model; other XML files and deleted files are ignored."""
    (project / "pom.xml").write_text("<project/>", encoding="utf-8")
    (project / "data.bin").write_bytes(b"data")
    others = ("pom.xml", "data.bin", "gone.onnx")
    result = irloop("validate", "--changed", *others)
    assert (result.exit_code, result.stdout) == (0, "no findings in 0 files\n")
    result = irloop("validate", "--changed", "models/m.bin", "models/m.xml", *others)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "1 error in 1 file"
