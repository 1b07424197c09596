"""Recognises by its first bytes what kind of file was given instead of the .xml of an IR."""

from __future__ import annotations

import re

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.other_formats import other_format

__all__ = ["recognised", "refuse_references", "refused"]


def refused(name: str, message: str, content: str, cause: str = "", fix: str = "") -> ReadError:
    return ReadError(
        message,
        location=Location(name),
        code="IRL101",
        expected="an OpenVINO IR: an XML file whose root is <net>",
        found=content,
        cause=cause,
        fix=fix,
    )


def recognised(data: bytes, name: str) -> bytes:
    """Check that a file is XML, and return its bytes in a form that the parser accepts.

    Raises:
        ReadError: when the file is not XML, explaining what it is.
    """
    if not data:
        raise refused(
            name,
            "the file is empty",
            "0 bytes",
            "an interrupted download or export",
            "fetch or export the model again",
        )
    text = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")):
        return data
    if text.startswith(b"<"):
        lower = text[:64].lower()
        if lower.startswith((b"<!doctype html", b"<html")):
            raise refused(
                name,
                "this is an HTML page, not a model",
                _head(text),
                "the address shows the file on a web page",
                "download the file itself (its raw content)",
            )
        return _declaration_first(data) if lower.startswith(b"<?xml") else data
    if text.startswith(b"version https://git-lfs"):
        raise refused(
            name,
            "this is a Git LFS pointer, not the model itself",
            _head(text),
            "the repository was cloned without its large files",
            "run 'git lfs pull' to fetch the model",
        )
    other = other_format(name, data[:4096])
    if other is not None:
        raise refused(name, f"this is {other.what}", _head(data), fix=other.fix)
    if data[0] == 0x08 and len(data) > 2 and 0 < data[1] < 64 and data[2] in _MODEL_PROTO_TAGS:
        raise refused(
            name,
            "this is an ONNX model, not an IR",
            "a protobuf message of ONNX",
            "the file has the wrong suffix",
            "give it the suffix .onnx",
        )
    packed = next((kind for start, kind in _PACKED if data.startswith(start)), "")
    if packed:
        raise refused(
            name,
            f"this is {packed}, not a model",
            _head(data),
            "the model was packed to be stored or sent",
            "unpack it and give the .xml",
        )
    if not data.strip():
        raise refused(
            name,
            "the file holds nothing but white space",
            f"{len(data)} bytes",
            "an interrupted download or export",
            "fetch or export the model again",
        )
    if b"\0" in data[:4096] or text[:1] > b"\x7f":
        is_bin = name.lower().endswith(".bin")
        raise refused(
            name,
            "these are weights, not the model" if is_bin else "this is binary data, not XML",
            _head(data),
            "" if is_bin else "the file is damaged, or of a format that irloop does not know",
            "give the .xml; the .bin of the same name beside it is found by itself"
            if is_bin
            else "give an .xml or .onnx",
        )
    raise refused(name, "this is not XML", _head(text), "the file is not an IR")


#: Fields that follow ir_version in a ModelProto: 2..8, 14, 20, 25 with their wire types.
_MODEL_PROTO_TAGS = frozenset({0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72, 0xA2, 0xCA})


_PACKED = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
)


def _head(data: bytes) -> str:
    return f"a file that begins with {data[:24]!r}"


def _declaration_first(data: bytes) -> bytes:
    """Move white space from before the XML declaration to after it; line numbers stay the same.

    Data that declare Latin-1 there are returned unchanged, so that expat refuses them: OpenVINO
    does not see such a declaration, and reads UTF-8.
    """
    start = data.find(b"<?xml")
    end = data.find(b"?>", start)
    before = data[:start]
    if end < 0 or not before or before.strip(b" \t\r\n"):
        return data
    if re.search(rb"iso-8859-1|latin1", data[start:end], re.IGNORECASE):
        return data
    return data[start : end + 2] + before + data[end + 2 :]


#: An entity reference; `re` compiles it at the first use, because few files have a DOCTYPE.
_REFERENCE = rb"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);)[^;\s]{0,40};?"


def refuse_references(data: bytes, name: str) -> None:
    """Refuse entity references, which expat skips if an external DTD might declare them."""
    match = re.search(_REFERENCE, data)
    if match is None:
        return
    line = data.count(b"\n", 0, match.start()) + 1
    raise ReadError(
        f"the XML uses an entity that is not declared: {match.group().decode(errors='replace')}",
        location=Location(name, line),
        code="IRL101",
        expected="only &amp; &lt; &gt; &quot; &apos; and character references",
        fix="write the text itself",
    )
