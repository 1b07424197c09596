"""Reads and changes the opset imports directly in the bytes of an ONNX file.

All other bytes stay the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx

from irloop.errors import ReadError
from irloop.formats.onnx.signature import NEWEST, signature_of
from irloop.formats.onnx.versions import domain_of

__all__ = ["ImportOpset", "imported_by", "imports_of", "newest_opset", "smallest_opset"]

#: The field number of `opset_import` in a ModelProto, and its tag as a field with a length.
_FIELD = 8
_TAG = bytes([_FIELD << 3 | 2])


@dataclass(frozen=True, slots=True)
class ImportOpset:
    """Makes a model import `version` of the operator set `domain`.

    An import of another version of this domain is replaced.
    """

    domain: str
    version: int

    def applied(self, data: bytes) -> bytes:
        """Return `data`, the bytes of a model, with this import added or replaced.

        Raises:
            ReadError: when the bytes are not a protobuf message.
        """
        name = next((name for name, _ in imports_of(data) if domain_of(name) == self.domain), None)
        new = onnx.OperatorSetIdProto(
            domain=self.domain if name is None else name, version=self.version
        ).SerializeToString()
        field = _TAG + _varint(len(new)) + new
        parts, at, is_there = [], 0, False
        for start, content, end in _entries(data):
            entry = onnx.OperatorSetIdProto.FromString(data[content:end])
            if domain_of(entry.domain) != self.domain:
                continue
            parts += [data[at:start], b"" if is_there else field]
            at, is_there = end, True
        parts.append(data[at:])
        return b"".join(parts) if is_there else data + field


def imports_of(data: bytes) -> list[tuple[str, int]]:
    """The domains and versions that a model imports, in the order of the file.

    Raises:
        ReadError: when the bytes are not a protobuf message.
    """
    found = [onnx.OperatorSetIdProto.FromString(data[at:end]) for _, at, end in _entries(data)]
    return [(item.domain, int(item.version)) for item in found]


def imported_by(data: bytes) -> list[str]:
    """The opset imports of a model, as one line of text for each domain."""
    return [f"opset_import: {name or 'ai.onnx'} {version}" for name, version in imports_of(data)]


def smallest_opset(types: set[str], above: int) -> int | None:
    """Return the smallest opset of ai.onnx that is greater than `above` and has all `types`.

    `types` are operation types. The result is None if there is no such opset.
    """
    return next((n for n in range(above + 1, NEWEST + 1) if _has_all(types, n)), None)


def newest_opset(types: set[str], ir_version: int) -> int | None:
    """Return the newest opset of ai.onnx that has all operations in `types`.

    Opsets that were released with a newer IR version than `ir_version` are not considered. The
    result is None if no opset has all of these operations.
    """
    table = onnx.helper.VERSION_TABLE
    released = [int(entry[2]) for entry in table if int(entry[1]) <= ir_version]
    newest = min(max(released, default=1), NEWEST)
    return next((n for n in range(newest, 0, -1) if _has_all(types, n)), None)


def _has_all(types: set[str], opset: int) -> bool:
    found = [signature_of(type, opset, "") for type in types]
    return all(item is not None and not item.deprecated for item in found)


def _entries(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield three positions in `data`, an encoded ModelProto, for each opset import.

    They are the start of its field, the start of its content and the end of its content.

    Raises:
        ReadError: when a field is longer than the data.
    """
    at = 0
    while at < len(data):
        start = at
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _read_varint(data, at)
            continue
        content = at
        if kind == 2:
            size, content = _read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind, len(data))
        at = content + size
        if at > len(data):
            raise ReadError("the file is not an ONNX model: a field is longer than the file")
        if tag == _TAG[0]:
            yield start, content, at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
    raise ReadError("the file is not an ONNX model: a number in it does not end")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
