"""How the tests run the command: through the installed entry point, as users do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "models"


@pytest.fixture
def recurrent() -> Path:
    """An IR with a TensorIterator."""
    return FIXTURES / "recurrent" / "model.xml"


@pytest.fixture
def halving() -> Path:
    """An IR with a Loop that stops early."""
    return FIXTURES / "halving" / "model.xml"


@pytest.fixture
def irloop() -> Callable[..., Result]:
    """Runs the command in this process; an uncaught exception fails the test."""
    (entry,) = entry_points(group="console_scripts", name="irloop")
    command: click.Command = entry.load()

    def run(*arguments: object) -> Result:
        result = CliRunner().invoke(command, [str(item) for item in arguments], prog_name="irloop")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command in a process of its own."""

    def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "irloop", *map(str, arguments)],
            capture_output=True,
            check=False,
            cwd=cwd,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            text=True,
            timeout=300,
        )

    return run
