"""Readings of ONNX and IR: irloop and another reader see the same model in the bytes."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["irloop"]):
    from harness import STEPS, folder

PATH = folder / "m.onnx"


def one_input(data: bytes) -> None:
    """Compare the readings of one input."""
    PATH.write_bytes(data)
    STEPS["onnx-readings"](PATH)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
