"""Type checkers understand a script that uses irloop, as strictly as they can."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "typed_use.py"


def said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def checked_by_mypy(script: Path) -> str:
    # Silent, because it would report engines without types in irloop itself.
    options = ("--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary")
    return said(sys.executable, "-m", "mypy", *options, str(script))


def checked_by_pyright(script: Path) -> str:
    pyright = shutil.which("basedpyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed")
    return said(pyright, "--level", "error", "--pythonpath", sys.executable, str(script))


@pytest.mark.slow
@pytest.mark.parametrize("checked", [checked_by_mypy, checked_by_pyright])
def test_a_type_checker_finds_only_mistakes(checked: Callable[[Path], str], tmp_path: Path) -> None:
    if checked is checked_by_mypy:
        pytest.importorskip("mypy", reason="is not installed")
    assert "error:" not in checked(SCRIPT)
    wrong = tmp_path / "wrong.py"
    text = SCRIPT.read_text(encoding="utf-8")
    wrong.write_text(text.replace("found.equal", "found.same"), encoding="utf-8")
    assert '"same"' in checked(wrong)


def test_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(SCRIPT))["main"](tmp_path)
    assert capsys.readouterr().out
