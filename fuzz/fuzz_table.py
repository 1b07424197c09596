"""Tables of results: the bytes are one of their Parquet files."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import STEPS, folder

PATH = folder / "m.parquet"


def one_input(data: bytes) -> None:
    """Do everything with one input."""
    PATH.write_bytes(data)
    STEPS["table"](PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
