"""ONNX's text format, for models in source code and tests."""

from __future__ import annotations

import os
from pathlib import Path

from onnx import parser

from irloop.errors import ReadError
from irloop.formats.onnx.reader import from_proto
from irloop.graph.model import Model

__all__ = ["from_text"]


def from_text(text: str, path: str | os.PathLike[str]) -> tuple[Model, Path]:
    """Parse `text`, write the model unchanged to `path`, and return the model and the path.

    Raises:
        ReadError: when the text is not a model in ONNX's text format.
    """
    try:
        proto = parser.parse_model(text)
    except parser.ParseError as error:
        raise ReadError("the text is not an ONNX model", found=str(error)[:500]) from None
    file = Path(path)
    file.write_bytes(proto.SerializeToString(deterministic=True))
    return from_proto(proto), file
