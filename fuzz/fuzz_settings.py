"""Settings and baselines: the bytes are an irloop.toml, or what follows a NUL a baseline."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop", "irloop_cli"]):
    from harness import attempt, folder
    from irloop_cli.baseline import Baseline
    from irloop_cli.settings import read_settings

SETTINGS, BASELINE = folder / "irloop.toml", folder / "known.json"


def one_input(data: bytes) -> None:
    """Read one file of settings and one baseline."""
    settings, _, baseline = data.partition(b"\0")
    SETTINGS.write_bytes(settings)
    BASELINE.write_bytes(baseline)
    attempt(lambda: read_settings(str(SETTINGS)))
    attempt(lambda: Baseline.read(str(BASELINE)))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
