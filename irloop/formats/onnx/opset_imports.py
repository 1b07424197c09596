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
from irloop.formats.onnx.wire_format import LENGTH, Encoded, Field, fields_of, varint

__all__ = ["ImportOpset", "imported_by", "imports_of", "newest_opset", "smallest_opset"]

#: The field number of `opset_import` in a ModelProto.
_FIELD = 8


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
        field = varint(_FIELD << 3 | LENGTH) + varint(len(new)) + new
        parts, done, is_there = [], 0, False
        for place in _entries(data):
            entry = onnx.OperatorSetIdProto.FromString(data[place.first : place.end])
            if domain_of(entry.domain) != self.domain:
                continue
            parts += [data[done : place.start], b"" if is_there else field]
            done, is_there = place.end, True
        parts.append(data[done:])
        return b"".join(parts) if is_there else data + field


def imports_of(data: bytes) -> list[tuple[str, int]]:
    """The domains and versions that a model imports, in the order of the file.

    Raises:
        ReadError: when the bytes are not a protobuf message.
    """
    parts = [data[place.first : place.end] for place in _entries(data)]
    found = map(onnx.OperatorSetIdProto.FromString, parts)
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


def _entries(data: bytes) -> Iterator[Field]:
    """Yield the place of each opset import in `data`, an encoded ModelProto.

    Raises:
        ReadError: when the bytes are not a protobuf message.
    """
    try:
        for field in fields_of(Encoded(data), 0, len(data)):
            if field.number == _FIELD and field.kind == LENGTH:
                yield field
    except ValueError as error:
        raise ReadError(f"the file is not an ONNX model: {error}") from None
