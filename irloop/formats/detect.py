"""Detect the format of a file by its suffix or, if that is unknown, by its first bytes."""

from __future__ import annotations

import os
import re

from irloop.diagnostics import Location
from irloop.errors import ReadError, UsageError
from irloop.files import ParsedOnce
from irloop.formats.other_formats import other_folder, other_format
from irloop.opening import dialect_of, open_regular

__all__ = ["OLD_IR", "detect", "detect_for_engines", "first_bytes"]

_ENOUGH = 4096

#: What an engine must read to run a file of these versions, instead of its dialect.
OLD_IR = "IR of versions 2 to 7"
_OLD_ROOT = re.compile(rb"""<net\b[^>]*?\sversion\s*=\s*["']0*[2-7]["']""")


def first_bytes(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file, enough to tell its format.

    Raises:
        UsageError: when the file does not exist or cannot be opened.
    """
    try:
        with open_regular(path) as file:
            return file.read(_ENOUGH)
    except ValueError as error:  # a NUL byte in the path
        raise UsageError(f"cannot open {os.fspath(path)!r}: {error}") from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(f"cannot open {os.fspath(path)}: {reason}") from error


def detect_for_engines(path: str | os.PathLike[str]) -> str:
    """What an engine must read to run a file: its dialect, or `OLD_IR`.

    Raises:
        UsageError: when the file cannot be opened.
        ReadError: when neither the suffix nor the first bytes indicate a format.
    """
    dialect = detect(path)
    is_old = dialect == "openvino" and _OLD_ROOT.search(first_bytes(path)) is not None
    return OLD_IR if is_old else dialect


def detect(path: str | os.PathLike[str]) -> str:
    """The dialect of the model in `path`: "openvino" or "onnx".

    A known suffix decides; otherwise an XML file is OpenVINO IR, and a file that starts like an
    ONNX protobuf message is ONNX.

    Raises:
        UsageError: when the file cannot be opened.
        ReadError: when neither the suffix nor the first bytes indicate a format.
    """
    if isinstance(path, ParsedOnce) and path.dialect is not None:
        return path.dialect
    folder = other_folder(os.fspath(path)) if os.path.isdir(path) else None
    if folder is not None:
        raise UsageError(f"{os.fspath(path)} is {folder.what}", fix=folder.fix)
    head = first_bytes(path)
    by_suffix = dialect_of(path)
    if by_suffix is not None:
        # The reader of that format can best find out what else the file may be.
        return by_suffix
    other = other_format(os.fspath(path), head)
    if other is not None:
        raise ReadError(
            f"this is {other.what}",
            location=Location(file=os.fspath(path)),
            code="IRL101",
            expected="OpenVINO IR (.xml) or ONNX (.onnx)",
            found=f"a file that starts with {head[:8]!r}",
            fix=other.fix,
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return "openvino"
    # In nearly every file, a ModelProto starts with its field 1, ir_version.
    if head[:1] == b"\x08":
        return "onnx"
    raise ReadError(
        "this is neither OpenVINO IR (.xml) nor ONNX (.onnx)",
        location=Location(file=os.fspath(path)),
        code="IRL101",
        expected="an XML file or an ONNX protobuf message",
        found=f"a file that starts with {head[:8]!r}" if head else "an empty file",
    )
