"""OpenVINO IR of versions 2 to 7: the bytes are the .xml, a NUL, and the .bin."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import STEPS, folder

PATH = folder / "m.xml"


def one_input(data: bytes) -> None:
    """Do everything with one input."""
    PATH.write_bytes(data)
    STEPS["old-ir"](PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
