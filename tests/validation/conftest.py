"""The command for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import pytest
from click.testing import CliRunner, Result


@pytest.fixture
def irloop_command() -> Callable[..., Result]:
    """Runs the command in this process, with `input` on its standard input."""
    (entry,) = entry_points(group="console_scripts", name="irloop")
    command = entry.load()

    def run(*arguments: str, input: str | None = None) -> Result:
        return CliRunner().invoke(command, list(arguments), input=input, prog_name="irloop")

    return run
