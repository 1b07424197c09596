"""Pages of models: the bytes are an ONNX model."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import STEPS, folder

PATH = folder / "m.onnx"


def one_input(data: bytes) -> None:
    """Do everything with one input."""
    PATH.write_bytes(data)
    STEPS["page"](PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
