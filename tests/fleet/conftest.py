"""Models of known quality, and ways to sweep them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from irloop.fleet import table

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

#: `irloop sweep` refuses to run on Windows, which has no process groups as it needs them.
collect_ignore_glob = ["test_*.py"] if os.name == "nt" else []

#: What every test of sweeps needs.
ABSENT = [name for name in ("distributed", "moto", "pyarrow", "trustme") if not find_spec(name)]


class Skipped(pytest.Module):
    """A module that cannot be imported here."""

    def collect(self) -> NoReturn:
        pytest.skip(f"needs {', '.join(ABSENT)}: pip install '.[stores]'", allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    return Skipped.from_parent(parent, path=module_path) if ABSENT else None


Verdicts = dict[tuple[str, str], str]


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """A folder with two subfolders: one with two good models, one with three bad models."""
    folder = tmp_path / "zoo"
    for name in ("recurrent", "halving"):
        shutil.copytree(FIXTURES / "models" / name, folder / "good" / name)
    bad = folder / "bad"
    bad.mkdir()
    for path in (FIXTURES / "rules" / "irl203").glob("bad_*.xml"):
        shutil.copy(path, bad)
    return folder


@pytest.fixture
def verdicts() -> Callable[[Path | str], Verdicts]:
    """Reads the verdicts of a table, keyed by model and step; each must occur at most once."""

    def read(target: Path | str) -> Verdicts:
        found: Verdicts = {}
        for _, step, columns in table.scan(str(target), ("path", "verdict")):
            for path, verdict in zip(columns["path"], columns["verdict"], strict=True):
                key = (path.partition("zoo")[2].lstrip("/"), step)
                assert key not in found
                found[key] = verdict
        return found

    return read


@pytest.fixture
def irloop() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command in a separate process."""

    def run(
        *arguments: object, path: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        places = [str(path)] if path else []
        return subprocess.run(
            [sys.executable, "-m", "irloop", *map(str, arguments)],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places), **more},
            text=True,
            timeout=300,
        )

    return run


def rows(target: Any, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted; each starts with its step."""
    found = [
        (step, *values)
        for _, step, read in table.scan(str(target), columns)
        for values in zip(*read.values(), strict=True)
    ]
    return sorted(found)
