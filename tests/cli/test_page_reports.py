"""``--report FILE.html`` of check, diff and validate, through the entry point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages.models import embedded

MODEL = Path(__file__).parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"


def irloop(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "irloop", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
    )


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """The recurrent model with another activation."""
    text = MODEL.read_text(encoding="utf-8")
    path = tmp_path / "new.xml"
    path.write_text(text.replace('type="Tanh"', 'type="Sigmoid"'), encoding="utf-8")
    path.with_suffix(".bin").write_bytes(MODEL.with_suffix(".bin").read_bytes())
    return path


@pytest.mark.parametrize(
    ("command", "status", "verdict"),
    [
        (["check", "--engines", "numpy", str(MODEL), "new.xml"], 1, "not equal"),
        (["diff", str(MODEL), "new.xml"], 1, "different"),
        (["diff", str(MODEL), str(MODEL)], 0, "the same"),
        (["validate", "new.xml"], 0, "no findings"),
    ],
)
def test_the_option_report_writes_a_page(
    command: list[str], status: int, verdict: str, changed: Path, tmp_path: Path
) -> None:
    plain = irloop(*command, cwd=tmp_path)
    done = irloop(*command, "--report", "page.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, plain.stdout)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    level = "bad" if status else "good"
    assert embedded(page)["report"]["verdict"] == {"level": level, "text": verdict}


def test_validate_has_html_beside_other_formats(changed: Path, tmp_path: Path) -> None:
    reports = ["--report", "html=a.htm", "--report", "json=b.json"]
    assert irloop("validate", "new.xml", *reports, cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.htm").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "b.json").exists()


@pytest.mark.parametrize("command", ["check", "diff"])
def test_no_model_is_written_over(command: str, changed: Path, tmp_path: Path) -> None:
    before = changed.read_bytes()
    done = irloop(command, str(MODEL), "new.xml", "--report", "new.xml", cwd=tmp_path)
    assert done.returncode == 2
    assert "pages are written as .htm, .html" in done.stderr
    assert changed.read_bytes() == before
