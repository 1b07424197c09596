"""irloop's own executor as an engine in a separate process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irloop.execution.session import Session
from irloop.formats.detect import detect
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.openvino import reader as ir_reader

__all__ = ["NumpyRunner"]


class NumpyRunner:
    """Runs a model in irloop's own executor; variables keep their values from run to run."""

    def __init__(self, path: str) -> None:
        read = ir_reader.read if detect(path) == "openvino" else onnx_reader.read
        self._session = Session(read(path))

    def reset(self) -> None:
        """Reset the variables."""
        self._session.reset()

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The outputs of one run."""
        return list(self._session.run(values).values())
