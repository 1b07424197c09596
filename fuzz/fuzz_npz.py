"""Arrays: the bytes are a .npz or a .npy; what is read is written and read again."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import attempt, folder

    import irloop

PATH = folder / "a.npz"


def _there_and_back() -> None:
    irloop.write_arrays(folder / "b.npz", irloop.read_arrays(PATH))
    irloop.read_arrays(folder / "b.npz")


def one_input(data: bytes) -> None:
    """Read one file of arrays."""
    PATH.write_bytes(data)
    attempt(_there_and_back)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
