"""The part of the protobuf encoding that is needed for weights.

Large `raw_data` fields are cut out of a file before it is decoded (their bytes stay in the mapped
file), and inserted after a file is encoded. In between, tokens replace them, so that protobuf never
holds the weights. All other bytes stay as they are, and protobuf alone decides what they mean:
`tests/formats/onnx/test_readings.py` compares the result with its own reading of the whole file.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from irloop.graph.tensor import Tensor

__all__ = [
    "LENGTH",
    "Encoded",
    "Field",
    "Piece",
    "Source",
    "Tokens",
    "cut",
    "fields_of",
    "size_of",
    "splice",
    "varint",
]

#: For each message of onnx.proto, the numbers of the fields that can lead to a tensor, with the
#: table of the message in that field. None marks raw_data, where the search ends.
_TENSOR: Mapping[int, Any] = {9: None}
_GRAPH: dict[int, Any] = {5: _TENSOR}
_ATTRIBUTE: Mapping[int, Any] = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH}
_GRAPH[1] = {5: _ATTRIBUTE}
_MODEL: Mapping[int, Any] = {7: _GRAPH}

#: Fields of fewer bytes are decoded normally.
CUT_LIMIT = 1 << 16

#: The wire types: a number, a field with a length, the start and the end of a group (which ONNX
#: does not use, so that every group is unknown), and numbers of 8 and of 4 bytes.
LENGTH = 2
_VARINT, _GROUP, _END = 0, 3, 4
_FIXED = {1: 8, 5: 4}

#: The limits of protobuf: the bytes of a tag or a length, and how often messages are nested.
LONGEST_TAG = 5
DEPTH = 100

#: A part of a file: bytes, or a tensor whose bytes are read when they are written.
Piece = bytes | memoryview | Tensor
#: Returns the new content of the raw_data field at (start, end), or None to keep it.
Replace = Callable[[int, int], Piece | None]


def size_of(piece: Piece) -> int:
    """Return the size in bytes of a part of a file."""
    return len(piece) if isinstance(piece, bytes) else piece.nbytes


class Source(Protocol):
    """An encoded message, in memory or in a file."""

    def __len__(self) -> int: ...

    def byte(self, position: int) -> int:
        """The byte at a position."""
        ...

    def part(self, start: int, end: int) -> memoryview:
        """The bytes from `start` to `end`."""
        ...


class Encoded:
    """An encoded protobuf message that is held in memory."""

    def __init__(self, data: bytes) -> None:
        self._view = memoryview(data)
        self.byte = self._view.__getitem__

    def __len__(self) -> int:
        return len(self._view)

    def part(self, start: int, end: int) -> memoryview:
        """The bytes from `start` to `end`."""
        return self._view[start:end]


class Tokens:
    """Creates tokens: short byte strings that replace large data in an encoded message.

    The data itself stays in its file.

    No file can contain a token by accident or intention, because the prefix cannot be guessed.
    """

    def __init__(self) -> None:
        self.prefix = os.urandom(16)
        self._count = 0

    def new(self) -> bytes:
        """Return a token that no file contains and no earlier call returned.

        It is the random prefix (16 bytes), followed by a counter (8 bytes).
        """
        self._count += 1
        return self.prefix + self._count.to_bytes(8, "little")


class Field(NamedTuple):
    """The place of a field in an encoded message.

    `start` is the position of its tag, `first` that of its content, and `end` that after it. `kind`
    is the wire type: a known field with the wrong one counts as unknown, and protobuf skips it.
    """

    number: int
    kind: int
    start: int
    first: int
    end: int


def fields_of(data: Source, start: int, end: int) -> Iterator[Field]:
    """Yield each field of the message at the bytes `start` to `end`.

    The fields are separated as protobuf separates them. What this function does not check, such as
    the numbers at the ends of groups, protobuf checks when it decodes the same bytes.

    Raises:
        ValueError: when the bytes are not a protobuf message.
    """
    position = start
    while position < end:
        tag, content = _varint(data, position, end, LONGEST_TAG)
        first, after = _content(data, tag & 7, content, end)
        if after > end:
            raise ValueError("a field extends beyond its message")
        yield Field(tag >> 3, tag & 7, position, first, after)
        position = after


def _content(data: Source, kind: int, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of the content of a field whose tag ends at `start`."""
    if kind == LENGTH:
        length, first = _varint(data, start, end, LONGEST_TAG)
        return first, first + length
    if kind == _VARINT:
        return start, _varint(data, start, end)[1]
    if kind in _FIXED:
        return start, start + _FIXED[kind]
    if kind != _GROUP:
        raise ValueError("a field of a kind that protobuf does not have, or the end of no group")
    after, depth = start, 1
    while depth:
        tag, after = _varint(data, after, end, LONGEST_TAG)
        if tag & 7 in (_GROUP, _END):
            depth += 1 if tag & 7 == _GROUP else -1
        else:
            _, after = _content(data, tag & 7, after, end)
    return start, after


def _varint(data: Source, position: int, end: int, longest: int = 10) -> tuple[int, int]:
    """Decode the number at `position`, of at most `longest` bytes; return it and its end."""
    value = 0
    for shift, place in enumerate(range(position, min(end, position + longest))):
        byte = data.byte(place)
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, place + 1
    raise ValueError("a number is not terminated")


def varint(value: int) -> bytes:
    """Encode a number."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class _Walk:
    """Rewrites some fields of an encoded message, and keeps the bytes of all other fields.

    `replace(start, end)` returns the new content of the field at these bytes, or None to keep it. A
    field is examined only if `enter(start, end)` is true.
    """

    def __init__(self, data: Source, replace: Replace, enter: Callable[[int, int], bool]) -> None:
        self._data = data
        self._replace = replace
        self._enter = enter

    def message(
        self, start: int, end: int, fields: Mapping[int, Any], depth: int = DEPTH
    ) -> tuple[list[Piece], int] | None:
        """Rewrite fields of the message at the bytes `start` to `end`; return its new content.

        `fields` selects the fields to rewrite by their numbers. A number maps to None if the
        function `replace` gives the new content of the whole field. If the field is itself a
        message, its number maps to another such table, which selects fields inside it. Messages may
        be nested in each other `depth` times.

        Returns the new content as a list of pieces, and its length in bytes; None if nothing
        changes.

        Raises:
            ValueError: when the bytes are not a protobuf message.
        """
        pieces: list[Piece] = []
        done = start
        for field in fields_of(self._data, start, end):
            first, after = field.first, field.end
            if field.kind != LENGTH or field.number not in fields or not self._enter(first, after):
                continue
            changed = self._field(first, after, fields[field.number], depth)
            if changed is None:
                continue
            # The bytes of the tag stay as they are, so that protobuf judges them, too.
            _, length_at = _varint(self._data, field.start, end)
            pieces += [self._data.part(done, length_at), varint(changed[1]), *changed[0]]
            done = after
        if not pieces:
            return None
        pieces.append(self._data.part(done, end))
        return pieces, sum(map(size_of, pieces))

    def _field(
        self, start: int, end: int, fields: Mapping[int, Any] | None, depth: int
    ) -> tuple[list[Piece], int] | None:
        if fields is not None:
            if not depth:
                raise ValueError("messages are nested in each other too often")
            return self.message(start, end, fields, depth - 1)
        piece = self._replace(start, end)
        return None if piece is None else ([piece], size_of(piece))


def cut(data: Source, tokens: Tokens) -> tuple[bytes, dict[bytes, tuple[int, int]]]:
    """Replace the large raw data in an encoded model by tokens.

    Returns the new bytes, and a dict that maps each token to the (offset, size) in `data` of the
    bytes that it replaces.

    Raises:
        ValueError: when `data` is not protobuf.
    """
    windows: dict[bytes, tuple[int, int]] = {}

    def replace(start: int, end: int) -> Piece:
        token = tokens.new()
        windows[token] = (start, end - start)
        return token

    walk = _Walk(data, replace, lambda start, end: end - start >= CUT_LIMIT)
    found = walk.message(0, len(data), _MODEL)
    pieces = [data.part(0, len(data))] if found is None else found[0]
    return b"".join(piece for piece in pieces if not isinstance(piece, Tensor)), windows


def splice(data: bytes, tokens: Tokens, weights: Mapping[bytes, Piece]) -> list[Piece]:
    """Return an encoded model in pieces, with the weights in place of the tokens.

    `weights` maps each token to its weight. Written one after the other, the pieces are the content
    of the file. Weights are not copied.
    """
    places = []
    place = data.find(tokens.prefix)
    while place >= 0:
        places.append(place)
        place = data.find(tokens.prefix, place + 1)

    def holds_token(start: int, end: int) -> bool:
        index = bisect_left(places, start)
        return index < len(places) and places[index] < end

    def replace(start: int, end: int) -> Piece | None:
        return weights.get(data[start:end])

    found = _Walk(Encoded(data), replace, holds_token).message(0, len(data), _MODEL)
    return [data] if found is None else found[0]
