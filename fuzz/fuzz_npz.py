"""Arrays: the bytes are a .npz or a .npy."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import arrays, folder

PATH = folder / "m.npz"


def one_input(data: bytes) -> None:
    """Do everything with one input."""
    PATH.write_bytes(data)
    arrays(PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
