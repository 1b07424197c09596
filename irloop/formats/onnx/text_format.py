"""ONNX's text format (.onnxtxt): the form that `onnx.parser` reads and `onnx.printer` writes.

The text has no place for doc strings and for metadata of single nodes, graphs and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from onnx import numpy_helper, parser, printer

from irloop.diagnostics import NOWHERE, Location
from irloop.errors import ReadError, WriteError

__all__ = ["MOST", "MOST_WEIGHTS", "lines_of_nodes", "parse_text", "text_of"]

#: The most bytes of a text that is read.
MOST = 1 << 28

#: The most bytes of weights that are written into a text; a number takes about four times as much.
MOST_WEIGHTS = 1 << 24

#: The parser calls itself for each graph and type inside another one, and has no limit of its own.
NESTING = 200

#: The closing quote may be missing, so that no quote is searched twice.
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"?|#[^\n]*|=>|[=<({]|[>)}]', re.DOTALL)
_ERROR = re.compile(r"\(line: (\d+) column: (\d+)\)\].*\n(.*)\Z", re.DOTALL)

#: What the text has no place for, and what does not change the meaning of a model.
_LOST = ("doc_string", "metadata_props")

#: How the numbers of a tensor are stored; the text uses one of these ways only.
_DATA = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def parse_text(text: bytes, location: Location = NOWHERE) -> onnx.ModelProto:
    """Parse a model in ONNX's text format.

    Raises:
        ReadError: when the text is not such a model, with the line of the mistake.
    """
    depth = 0
    for token in _TOKENS.finditer(text):
        depth += {b"(": 1, b"{": 1, b")": -1, b"}": -1}.get(token.group(), 0)
        if depth > NESTING:
            line = text.count(b"\n", 0, token.start()) + 1
            raise _not_text(f"more than {NESTING} nested brackets", location, line)
    try:
        return parser.parse_model(text.decode())
    except parser.ParseError as error:
        said = error.args[0].decode(errors="replace") if error.args else ""
        place = _ERROR.search(said)
        if place is None:
            raise _not_text(said, location) from None
        found = f"column {place[2]}: {place[3]}"
        raise _not_text(found, location, int(place[1])) from None
    except UnicodeDecodeError as error:
        raise _not_text(f"bytes that are not UTF-8 at {error.start}", location) from None
    except DecodeError:
        raise _not_text("bodies in bodies, too deep for a protobuf", location) from None
    except (IndexError, ValueError, OverflowError, RuntimeError):
        raise _not_text("a number that is out of range", location) from None


def lines_of_nodes(text: bytes) -> Iterator[int]:
    """Yield the line of each node in a model that `parse_text` reads; a node precedes its bodies.

    Only in the braces of a graph does an equals sign stand directly: there it follows the outputs
    of a node. Functions come after the main graph.
    """
    around: list[bytes] = []
    line, start = 1, 0
    for token in _TOKENS.finditer(text):
        word = token.group()
        if word in (b"<", b"(", b"{"):
            around.append(word)
        elif word in (b">", b")", b"}"):
            around.pop()
        elif word == b"=" and around[-1:] == [b"{"]:
            line += text.count(b"\n", start, token.start())
            start = token.start()
            yield line


def _not_text(problem: str, location: Location, line: int | None = None) -> ReadError:
    return ReadError(
        "the text is not an ONNX model",
        location=location if line is None else Location(file=location.file, line=line),
        expected='ONNX\'s text format, such as <ir_version: 8, opset_import: ["": 17]> '
        "g (float[N] x) => (float[N] y) { y = Relu(x) }",
        found=problem[:500],
    )


def text_of(proto: onnx.ModelProto, name: str) -> bytes:
    """The text of a model, which reads back as the same model; `name` is its name in errors.

    Raises:
        WriteError: when the text cannot express the model.
    """
    text: str = printer.to_text(proto)
    data = text.encode(errors="surrogateescape")
    if len(data) > MOST:
        raise WriteError(
            f"{name} cannot hold the model: a text is limited to {MOST >> 20} MiB",
            found=f"{len(data)} bytes",
            fix="store the weights as external data, or write an .onnx",
        )
    try:
        back = parse_text(data)
    except ReadError as error:
        reason = error.diagnostics[0].found
    else:
        reason = _difference(_comparable(proto), _comparable(back))
    if reason:
        raise WriteError(
            f"{name} cannot be written: ONNX's text format does not express this model",
            found=reason,
            fix="write an .onnx",
        )
    return data + b"\n"


def _comparable(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without what the text has no place for, with all tensors stored in the same way."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for message in _messages(copy):
        for field in _LOST if message is not copy else ("doc_string",):
            if field in message.DESCRIPTOR.fields_by_name:
                message.ClearField(field)
        if isinstance(message, onnx.TensorProto) and not message.external_data:
            _store_as_bytes(message)
    return copy


def _store_as_bytes(tensor: onnx.TensorProto) -> None:
    if tensor.data_type == onnx.TensorProto.STRING:
        return
    array = numpy_helper.to_array(tensor)
    if array.dtype.kind == "f":
        # The text has one NaN only.
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    for field in _DATA:
        tensor.ClearField(field)
    tensor.raw_data = array.tobytes()


def _messages(message: Any) -> Iterator[Any]:
    """Yield a message and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for part in [value] if isinstance(value, Message) else value:
                yield from _messages(part)


def _difference(first: Any, second: Any, path: str = "") -> str:
    """Return the first field in which two messages differ, as text; empty if there is none."""
    for field in first.DESCRIPTOR.fields:
        left, right = getattr(first, field.name), getattr(second, field.name)
        place = f"{path}.{field.name}".lstrip(".")
        if isinstance(left, Message):
            if first.HasField(field.name) != second.HasField(field.name):
                return place
            difference = _difference(left, right, place) if first.HasField(field.name) else ""
            if difference:
                return difference
        elif field.type == field.TYPE_MESSAGE:
            if len(left) != len(right):
                return place
            for number, pair in enumerate(zip(left, right, strict=True)):
                difference = _difference(*pair, f"{place}[{number}]")
                if difference:
                    return difference
        elif left != right:
            return place
    return ""
