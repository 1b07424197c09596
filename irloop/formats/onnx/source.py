"""Opens a file as a ModelProto. If it is another kind of file, the error names that kind."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.files import ParsedOnce
from irloop.formats.onnx.decoded import DecodedNode, decode
from irloop.formats.onnx.external import LFS_POINTER, ExternalFiles
from irloop.formats.onnx.text_format import MOST, parse_text
from irloop.formats.onnx.wire_format import Tokens, cut
from irloop.formats.other_formats import other_format
from irloop.graph.mapped_file import MappedFile
from irloop.opening import is_onnx_text, open_regular, read_regular

__all__ = ["Loaded", "load", "loaded"]

#: Files that are not ONNX models: how they begin (in lower case), their kind, and the advice.
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (
        LFS_POINTER,
        "a Git LFS pointer, not the file it points to",
        "run `git lfs pull`",
    ),
    (b"<!doctype html", "a web page", "download the file itself, not the page that shows it"),
    (b"<html", "a web page", "download the file itself, not the page that shows it"),
    (b"<?xml", "an XML file", "an OpenVINO IR is read by its .xml suffix"),
    (b"<net", "an OpenVINO IR", "an OpenVINO IR is read by its .xml suffix"),
    (b"pk\x03\x04", "a ZIP archive", "unpack it, and give the model in it"),
    (b"\x1f\x8b", "a gzip file", "unpack it first"),
    (b"\x93numpy", "a NumPy array", "give the model file"),
    (b"{", "a JSON file", "give the binary .onnx file"),
)

#: Maximum number of bytes of a protobuf.
PROTOBUF_LIMIT = (1 << 31) - 1

#: Files of fewer bytes than this are read as a whole.
BIG = 1 << 20

#: Number of bytes at the start of a file that may tell its format, if it is not a model.
START = 4096

#: Why a file is not a model, and the cause.
NOT_DECODED = (
    "the protobuf cannot be decoded",
    "the file is cut short or damaged, or of another format",
)
NO_GRAPH = (
    "there is no graph in it",
    "the file is damaged, or a protobuf of another kind (a tensor, a data set)",
)

#: Number of bytes that are read at a time while searching for the weights.
PAGE = 1 << 16


class Loaded:
    """A ModelProto, which must not be changed, and the files with its weights."""

    def __init__(self, proto: onnx.ModelProto, files: ExternalFiles) -> None:
        self.proto = proto
        self.files = files

    @cached_property
    def nodes(self) -> list[DecodedNode]:
        """The nodes of the main graph, decoded."""
        return decode(self.proto.graph)

    def clear(self) -> None:
        """Drop the ModelProto to free memory; models that were read from it use only `files`."""
        self.proto = onnx.ModelProto()
        self.__dict__.pop("nodes", None)


def loaded(path: str | os.PathLike[str]) -> Loaded:
    """Read the ModelProto in a file.

    If `path` is a `ParsedOnce`, it keeps the result, and later calls return that result without
    reading the file again.

    Raises:
        ReadError: when the file cannot be read or has another format.
    """
    if isinstance(path, ParsedOnce) and isinstance(path.content, Loaded):
        return path.content
    file = Path(path)
    files = ExternalFiles(file.parent)
    model = Loaded(load(file, files), files)
    if isinstance(path, ParsedOnce):
        path.content = model
    return model


def load(path: Path, files: ExternalFiles) -> onnx.ModelProto:
    """Read the ModelProto in a file; external data is not touched.

    Large weights stay in the file; the message contains tokens instead, which `files` resolves.

    Raises:
        ReadError: when the file cannot be read or has another format.
    """
    location = Location(file=os.fspath(path))
    try:
        with open_regular(path) as stream:
            size = os.fstat(stream.fileno()).st_size
        if is_onnx_text(path):
            return parse_text(read_regular(path, MOST), location)
        if size > PROTOBUF_LIMIT:
            raise ReadError(
                f"{path} is bigger than any protobuf can be",
                location=location,
                expected="at most 2 GiB",
                found=f"{size} bytes",
                fix="store the weights as external data",
            )
        if size >= BIG:
            return _without_weights(path, size, files)
        return parse(read_regular(path, BIG), location)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ReadError(f"{path} cannot be read: {reason}", location=location) from None


def _without_weights(path: Path, size: int, files: ExternalFiles) -> onnx.ModelProto:
    file, location = MappedFile(path), Location(file=os.fspath(path))
    tokens = Tokens()
    try:
        data, windows = cut(_Pages(file, size), tokens)
    except ValueError:
        raise _not_onnx(bytes(file.read(0, START)), location, NOT_DECODED) from None
    files.keep(file, windows)
    return parse(data, location)


class _Pages:
    """The bytes of a file, read on request.

    A memory mapping would crash this process if another process truncated the file.
    """

    def __init__(self, file: MappedFile, size: int) -> None:
        self._file = file
        self._size = size
        self._page = memoryview(b"")
        self._start = 0

    def __len__(self) -> int:
        return self._size

    def byte(self, position: int) -> int:
        """The byte at a position in the file."""
        if not 0 <= position - self._start < len(self._page):
            self._page = self._file.read(position, min(PAGE, self._size - position))
            self._start = position
        return self._page[position - self._start]

    def part(self, start: int, end: int) -> memoryview:
        """The bytes from `start` to `end`."""
        return self._file.read(start, end - start)


def parse(data: bytes, location: Location) -> onnx.ModelProto:
    """The ModelProto in these bytes.

    Raises:
        ReadError: when they are something else.
    """
    if not data:
        raise ReadError(
            "the file is empty",
            location=location,
            cause="a download or an export was interrupted",
        )
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise _not_onnx(data, location, NOT_DECODED) from None
    if not model.HasField("graph"):
        raise _not_onnx(data, location, NO_GRAPH)
    return model


def _not_onnx(data: bytes, location: Location, why: tuple[str, str]) -> ReadError:
    """Make the error for a file that is not a model, and begins with `data`.

    It names the format of the file if it is known; otherwise `why` holds the problem and its cause.
    """
    beginning = repr(data[:24])
    other = other_format(location.file or "", data[:START])
    if other is not None:
        return ReadError(
            f"this is not an ONNX model but {other.what}",
            location=location,
            expected="an ONNX protobuf",
            found=beginning,
            fix=other.fix,
        )
    start = data[:START].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for prefix, what, fix in _OTHERS:
        if start.startswith(prefix):
            return ReadError(
                f"this is not an ONNX model but {what}",
                location=location,
                expected="an ONNX protobuf",
                found=beginning,
                fix=fix,
            )
    return ReadError(
        f"this is not an ONNX model: {why[0]}", location=location, found=beginning, cause=why[1]
    )
