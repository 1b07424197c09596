"""Models in ONNX's text format, for models in source code and tests."""

from __future__ import annotations

import os
from pathlib import Path

from irloop.formats.onnx.reader import from_proto
from irloop.formats.onnx.text_format import parse_text
from irloop.graph.model import Model

__all__ = ["from_text"]


def from_text(text: str, path: str | os.PathLike[str]) -> tuple[Model, Path]:
    """Parse `text`, write the model unchanged to `path`, and return the model and the path.

    Raises:
        ReadError: when the text is not a model in ONNX's text format.
    """
    proto, file = parse_text(text.encode()), Path(path)
    file.write_bytes(proto.SerializeToString(deterministic=True))
    return from_proto(proto), file
