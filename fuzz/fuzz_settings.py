"""Settings and baselines: the bytes are an irloop.toml, and after a NUL a baseline."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop", "irloop_cli"]):
    from harness import folder, settings

PATH = folder / "m.toml"


def one_input(data: bytes) -> None:
    """Do everything with one input."""
    PATH.write_bytes(data)
    settings(PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
