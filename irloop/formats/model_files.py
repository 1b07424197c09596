"""Reads and writes model files of both formats."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from irloop.errors import UsageError
from irloop.files import ParsedOnce
from irloop.formats.detect import detect
from irloop.formats.objects import opened
from irloop.graph.convert_options import WriteOptions
from irloop.graph.model import Model
from irloop.opening import SUFFIXES, dialect_of

if TYPE_CHECKING:
    from irloop.formats.onnx.reader import Expand

    Path = str | os.PathLike[str]

__all__ = ["read", "write"]


def read(
    source: Any, bin: Any = None, *, expand: Expand | None = None, without_weights: bool = False
) -> Model:
    """Read a model of either format; see `irloop.read_model` for the arguments and the errors.

    `expand` decides which ONNX operations are replaced by the function that defines them.
    """
    path, bin = opened(source, bin)
    if without_weights and detect(path) == "openvino":
        from irloop.formats.openvino import reader

        return reader.read(path, bin, without_weights=True)
    model = _read(path, bin, expand)
    if isinstance(path, ParsedOnce) and path.dialect is not None:
        model.source = None  # There is no file that an engine could run.
    return model


def _read(path: Path, bin: Path | None, expand: Expand | None) -> Model:
    if detect(path) == "openvino":
        from irloop.formats.openvino import reader

        return reader.read(path, bin)
    if bin is not None:
        raise UsageError("bin is for an IR only, because an ONNX model names its own weights files")
    from irloop.formats.onnx import reader as onnx_reader

    return onnx_reader.read(path, expand=expand)


def write(model: Model, path: Path, options: WriteOptions) -> tuple[str, ...]:
    """Write a model in its own format; see `irloop.save_model` for the arguments and the errors."""
    if dialect_of(path) != model.dialect:
        suffix = next(suffix for suffix, name in SUFFIXES.items() if name == model.dialect)
        raise UsageError(
            f"cannot write {path}: a model of dialect {model.dialect} needs the suffix {suffix}"
        )
    options.require_fitting(model.dialect)
    if model.dialect == "openvino":
        from irloop.formats.openvino import writer

        return tuple(map(str, writer.write(model, path, version=options.ir_version)))
    from irloop.formats.onnx import writer as onnx_writer

    files = onnx_writer.write(
        model,
        path,
        external_data=options.external_data,
        weights=options.weights,
        version=options.ir_version,
    )
    return tuple(map(str, files))
