"""Takes models that are in memory: bytes, streams, and objects of other packages.

`opened` is the only place that turns whatever the caller has into something that the readers read.
No package is imported here: whoever has such an object has imported its package.
"""

from __future__ import annotations

import importlib
import io
import os
from typing import TYPE_CHECKING, Any

from irloop.errors import ReadError, UsageError
from irloop.files import ParsedOnce, scratch
from irloop.graph.mapped_file import MemoryFile
from irloop.graph.model import Model
from irloop.opening import read_regular, require_local

if TYPE_CHECKING:
    from irloop.opening import Path

__all__ = ["NAME", "opened", "xml_and_weights"]

#: The name of a model in memory in messages.
NAME = "<model>"

#: The most bytes of an .xml and of its weights.
_MOST = 1 << 31, 1 << 40

_BYTES = (bytes, bytearray, memoryview)


def opened(source: Any, bin: Any = None) -> tuple[Path, Path | None]:
    """Return the path of a model and of its weights, or what readers take in place of paths.

    Raises:
        UsageError: for anything that is not a model.
        ReadError: when an object of another package cannot be turned into a file of its format.
    """
    if isinstance(source, str | os.PathLike) and not _is_text(source):
        require_local(source)
        return source, _memory(bin) if _has_bytes(bin) else bin
    if isinstance(source, tuple) and len(source) == 2 and bin is None:
        source, bin = source
        if isinstance(source, str | os.PathLike) and not _is_text(source):
            return opened(source, bin)
    if isinstance(source, str):
        source = source.encode()
    if hasattr(source, "read"):
        source = source.read()
    if isinstance(source, Model):
        return _written(source)
    if isinstance(source, _BYTES):
        return _parsed(bytes(source), bin)
    if bin is not None:
        raise UsageError("bin is for an IR only", found=type(source).__name__)
    return _of_package(source)


def _has_bytes(weights: Any) -> bool:
    return weights is not None and not isinstance(weights, str | os.PathLike)


def _is_text(source: str | os.PathLike[str]) -> bool:
    """Return whether the first of a pair is the text of an .xml instead of its path."""
    return isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<")


def _parsed(data: bytes, weights: Any) -> tuple[Path, Path | None]:
    """The content of an .xml or an .onnx, and the weights of an .xml."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        from irloop.diagnostics import Location
        from irloop.formats.onnx.source import parse as parse_onnx

        if weights is not None:
            raise UsageError("bin is for an IR only, because an ONNX model has its own weights")
        return _onnx(parse_onnx(data, Location(file=NAME))), None
    from irloop.formats.openvino.xml import parse

    file = ParsedOnce(NAME, "openvino")
    file.content = parse(data, file=NAME)
    if weights is not None and not _has_bytes(weights):
        return file, weights
    return file, _memory(b"" if weights is None else weights)


def _memory(weights: Any) -> MemoryFile:
    """The bytes of weights: an array, a tensor of OpenVINO, a stream, or bytes."""
    data = weights.read() if hasattr(weights, "read") else weights
    data = data if isinstance(data, _BYTES) else getattr(data, "data", data)
    try:
        return MemoryFile(data)
    except (TypeError, ValueError, BufferError):
        raise UsageError(
            "the argument bin has the wrong type",
            expected="a path, bytes, a contiguous array, or a tensor of OpenVINO",
            found=f"{type(weights).__name__}: {weights!r:.60}",
        ) from None


def _onnx(proto: Any) -> ParsedOnce:
    from irloop.formats.onnx.external import ExternalFiles
    from irloop.formats.onnx.source import Loaded

    file = ParsedOnce(NAME, "onnx")
    file.content = Loaded(proto, ExternalFiles(None))
    return file


def _written(model: Model) -> tuple[Path, Path | None]:
    """A model of irloop, as its files would be."""
    if model.dialect == "onnx":
        from irloop.formats.onnx.writer import to_proto_model

        return _onnx(to_proto_model(model)), None
    return _parsed(*xml_and_weights(model))


def xml_and_weights(model: Model) -> tuple[bytes, memoryview]:
    """The .xml and the .bin of a model in memory.

    Raises:
        UsageError: for a model of another dialect.
        WriteError: when an IR cannot represent it.
    """
    from irloop.formats.openvino.writer import write_to

    xml, weights = io.BytesIO(), io.BytesIO()
    write_to(model, xml, weights)
    return xml.getvalue(), weights.getbuffer()


def _of_package(source: Any) -> tuple[Path, Path | None]:
    kinds = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(source).__mro__}
    if ("onnx", "ModelProto") in kinds:
        return _onnx(source), None
    if ("onnx_ir", "Model") in kinds:
        return _onnx(importlib.import_module("onnx_ir").to_proto(source)), None
    if ("onnxscript", "OnnxFunction") in kinds:
        return _onnx(source.to_model_proto()), None
    if ("openvino", "CompiledModel") in kinds:
        return _serialized(source.get_runtime_model())
    if ("openvino", "Model") in kinds:
        return _serialized(source)
    raise UsageError(
        "this is not a model",
        expected="a path, bytes, a stream, an irloop.Model, (xml, weights), or a model of onnx, "
        "onnx_ir, onnxscript or openvino",
        found=f"{type(source).__name__}: {source!r:.60}",
    )


def _serialized(source: Any) -> tuple[Path, Path | None]:
    """A model of OpenVINO, which writes itself to files only."""
    if any(node.get_type_name() == "ExecutionNode" for node in source.get_ops()):
        raise ReadError(
            "the compiled model holds the engine's own operations, not those of the model",
            found="ExecutionNode",
            fix="give the openvino.Model that was compiled",
        )
    with scratch() as folder:
        files = [os.path.join(folder, name) for name in ("model.xml", "model.bin")]
        try:
            importlib.import_module("openvino").serialize(source, *files)
        except RuntimeError as error:
            raise ReadError(f"OpenVINO cannot write the model: {error}") from error
        return _parsed(*(read_regular(file, most) for file, most in zip(files, _MOST, strict=True)))
