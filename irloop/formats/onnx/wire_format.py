"""The part of the protobuf encoding that is needed for weights.

Large `raw_data` fields are cut out of a file before it is decoded (their bytes stay in the mapped
file), and inserted after a file is encoded. In between, tokens replace them, so that protobuf never
holds the weights.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from irloop.graph.tensor import Tensor

__all__ = ["Encoded", "Piece", "Source", "Tokens", "cut", "size_of", "splice"]

#: For each message of onnx.proto, the numbers of the fields that can lead to a tensor, with the
#: table of the message in that field. None marks raw_data, where the search ends.
_TENSOR: Mapping[int, Any] = {9: None}
_GRAPH: dict[int, Any] = {5: _TENSOR}
_ATTRIBUTE: Mapping[int, Any] = {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH}
_GRAPH[1] = {5: _ATTRIBUTE}
_MODEL: Mapping[int, Any] = {7: _GRAPH}

#: Fields of fewer bytes are decoded normally.
CUT_LIMIT = 1 << 16

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

    def byte(self, at: int) -> int:
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


class _Walk:
    """Rewrites some fields of an encoded message, and keeps the bytes of all other fields.

    `replace(start, end)` returns the new content of the field at these bytes, or None to keep it. A
    field is examined only if `enter(start, end)` is true.
    """

    def __init__(self, data: Source, replace: Replace, enter: Callable[[int, int], bool]) -> None:
        self._byte = data.byte
        self._part = data.part
        self._replace = replace
        self._enter = enter

    def message(
        self, start: int, end: int, fields: Mapping[int, Any]
    ) -> tuple[list[Piece], int] | None:
        """Rewrite fields of the message at the bytes `start` to `end`; return its new content.

        `fields` selects the fields to rewrite by their numbers. A number maps to None if the
        function `replace` gives the new content of the whole field. If the field is itself a
        message, its number maps to another such table, which selects fields inside it.

        Returns the new content as a list of pieces, and its length in bytes; None if nothing
        changes.

        Raises:
            ValueError: when the bytes are not a protobuf message.
        """
        pieces: list[Piece] = []
        done = at = start
        while at < end:
            tag_at = at
            tag, at = self._varint(at, end)
            kind = tag & 7
            if kind != 2:
                at = self._skip(kind, at, end)
                continue
            length, at = self._varint(at, end)
            first, at = at, at + length
            if at > end:
                raise ValueError("a field extends beyond its message")
            number = tag >> 3
            if number not in fields or not self._enter(first, at):
                continue
            changed = self._field(first, at, fields[number])
            if changed is None:
                continue
            pieces += [self._part(done, tag_at), _varint_bytes(tag), _varint_bytes(changed[1])]
            pieces += changed[0]
            done = at
        if not pieces:
            return None
        pieces.append(self._part(done, end))
        return pieces, sum(map(size_of, pieces))

    def _field(
        self, start: int, end: int, fields: Mapping[int, Any] | None
    ) -> tuple[list[Piece], int] | None:
        if fields is not None:
            return self.message(start, end, fields)
        piece = self._replace(start, end)
        return None if piece is None else ([piece], size_of(piece))

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        value = shift = 0
        while at < end and shift < 70:
            byte = self._byte(at)
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
        raise ValueError("a number is not terminated")

    def _skip(self, kind: int, at: int, end: int) -> int:
        if kind == 0:
            return self._varint(at, end)[1]
        if kind not in (1, 5):
            raise ValueError("a field of a kind that ONNX does not use")
        return at + (8 if kind == 1 else 4)


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


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
    at = data.find(tokens.prefix)
    while at >= 0:
        places.append(at)
        at = data.find(tokens.prefix, at + 1)

    def holds_token(start: int, end: int) -> bool:
        index = bisect_left(places, start)
        return index < len(places) and places[index] < end

    def replace(start: int, end: int) -> Piece | None:
        return weights.get(data[start:end])

    found = _Walk(Encoded(data), replace, holds_token).message(0, len(data), _MODEL)
    return [data] if found is None else found[0]
