"""`irloop explain CODE --reproduce` writes a report that shows the fault without irloop."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import irloop
from irloop.faults.catalogue import faults
from irloop.faults.measured import releases
from tests.conversion.both_engines import needs_engines

#: Faults with each effect: wrong or stale numbers, strings, a crash, a refusal.
SHOWN = ["ORT101", "ORT108", "ORT112", "ORT123", "OVN103", "OVN128", "OVN131", "OVN142", "OVN155"]


def script_of(code: str, folder: Path) -> Path:
    text = irloop.explain(code, reproduce=folder)
    script = folder / "reproduce.py"
    assert f"python {script}" in text
    return script


def run(script: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-W", "ignore", str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def installed_has(code: str) -> bool | None:
    """Whether the installed release has the fault; None if the release was not measured."""
    engine = faults()[code].engine
    known = [item for item in releases(engine) if item.version == version(engine)]
    return known[0].has(code) if known else None


@needs_engines
@pytest.mark.parametrize("code", SHOWN)
def test_the_script_shows_the_fault(code: str, tmp_path: Path) -> None:
    if not installed_has(code):
        pytest.skip("the installed release does not have the fault, or was not measured")
    done = run(script_of(code, tmp_path / "new" / "folder"))
    verdict = faults()[code].effect.name
    if verdict == "CRASH":
        assert done.returncode < 0
    elif verdict == "REFUSAL":
        assert done.returncode == 1
        assert "Traceback" in done.stderr
        assert "import" not in done.stderr.splitlines()[-1].lower()
    else:
        assert done.stdout.splitlines()[-1] == "wrong"
        assert "expected" in done.stdout


@needs_engines
def test_the_script_says_that_an_engine_is_right(tmp_path: Path) -> None:
    if installed_has("ORT113") is not False:
        pytest.skip("the installed release has the fault, or was not measured")
    done = run(script_of("ORT113", tmp_path))
    assert done.stdout.splitlines()[-1] == "right", done.stderr


@pytest.mark.parametrize("code", faults())
def test_the_script_needs_only_the_engine_and_numpy(code: str, tmp_path: Path) -> None:
    text = script_of(code, tmp_path).read_text()
    tree = ast.parse(text)
    names = {
        name
        for node in ast.walk(tree)
        for name in (
            [item.name for item in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert names == {"numpy", "pathlib", faults()[code].engine}
    assert len(text.splitlines()) <= 40
    assert {path.stem for path in tmp_path.iterdir()} == {"model", "reproduce"}


def test_the_code_may_be_written_in_lower_case(tmp_path: Path) -> None:
    assert "OVN133" in script_of("ovn133", tmp_path).read_text()


def test_only_faults_are_reproduced(tmp_path: Path) -> None:
    with pytest.raises(irloop.UsageError, match="no fault has the code 'IRL203'"):
        irloop.explain("IRL203", reproduce=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("kept")
    with pytest.raises(irloop.WriteError, match="cannot write into the folder"):
        irloop.explain("OVN133", reproduce=tmp_path / "x")
    assert (tmp_path / "x").read_text() == "kept"
