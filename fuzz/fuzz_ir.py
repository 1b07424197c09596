"""OpenVINO IR: the bytes are the .xml; its .bin holds 64 KiB."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import everything, folder

PATH = folder / "m.xml"
PATH.with_suffix(".bin").write_bytes(bytes(range(256)) * 256)


def one_input(data: bytes) -> None:
    """Do everything with one input."""
    PATH.write_bytes(data)
    everything(PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
