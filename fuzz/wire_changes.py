"""Changes the encoding of a protobuf: fields are split, repeated, reordered, or made unusual.

Some changes keep the message, most give another one, and some give bytes that are no message.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

__all__ = ["WAYS", "Wire", "changed_wire", "varint"]

#: A field: its number, its wire type, and its content, a list of fields if it is a message.
Wire = list[Any]

#: A number of a field that no message of ONNX has.
UNKNOWN = 1000

#: Messages in each other that are examined.
DEPTH = 12


def varint(value: int, length: int = 0) -> bytes:
    """Encode a number, with at least `length` bytes."""
    found = bytearray()
    value &= (1 << 64) - 1
    while value > 127 or len(found) + 1 < length:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def changed_wire(data: bytes, descriptor: Any, draw: random.Random) -> bytes:
    """Change the encoding of a message in one or more ways.

    `data` must be an encoded message of the type `descriptor`.
    """
    fields = _parsed(data, descriptor, 0)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        owner, messages = _drawn(fields, descriptor, draw)
        draw.choice(WAYS)(owner, messages, draw)
    found = _encoded(fields)
    if draw.random() < 0.1:
        return draw.choice(DAMAGE)(found, draw)
    return found


def _parsed(data: bytes, descriptor: Any, depth: int) -> list[Wire]:
    """Parse an encoding that has no groups."""
    found: list[Wire] = []
    at = 0
    while at < len(data):
        tag, at = _number(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, after = _number(data, at)
            found.append([number, kind, varint(value)])
        elif kind == 2:
            size, at = _number(data, at)
            after = at + size
            field = descriptor.fields_by_number.get(number)
            inner = None if field is None else field.message_type
            content: Any = data[at:after]
            if inner is not None and depth < DEPTH:
                content = _parsed(content, inner, depth + 1)
            found.append([number, kind, content])
        else:
            after = at + (8 if kind == 1 else 4)
            found.append([number, kind, data[at:after]])
        at = after
    return found


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _encoded(fields: list[Wire]) -> bytes:
    found = []
    for number, kind, content in fields:
        if kind is None:
            found.append(content)
            continue
        inside = _encoded(content) if isinstance(content, list) else content
        length = varint(len(inside)) if kind == 2 else b""
        found.append(varint(number << 3 | kind) + length + inside)
    return b"".join(found)


def _drawn(fields: list[Wire], descriptor: Any, draw: random.Random) -> tuple[list[Wire], Any]:
    """Choose a message: its fields and its descriptor."""
    while draw.random() < 0.75:
        inner = [item for item in fields if item[1] == 2 and isinstance(item[2], list)]
        if not inner:
            break
        chosen = draw.choice(inner)
        fields, descriptor = chosen[2], descriptor.fields_by_number[chosen[0]].message_type
    return fields, descriptor


def _place(fields: list[Wire], draw: random.Random) -> int:
    return draw.randrange(len(fields) + 1)


def _unknown(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Insert a field that the message does not have."""
    kind = draw.choice((0, 1, 2, 5))
    content = {0: varint(draw.getrandbits(64)), 1: bytes(8), 2: b"\x08" * 9, 5: bytes(4)}[kind]
    fields.insert(_place(fields, draw), [UNKNOWN + draw.randrange(9), kind, content])


def _group(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Insert a group, which may have the number of a field, hold other groups, or not end."""
    number = draw.choice((UNKNOWN, 15, *descriptor.fields_by_number))
    inside: list[Wire] = []
    depth = draw.choice((0, 0, 1, 3, 98, 101))
    for _ in range(draw.randrange(3)):
        _unknown(inside, descriptor, draw)
    start, end = varint(number << 3 | 3), varint(number << 3 | 4)
    other = draw.random()
    if other < 0.05:
        end = varint(number + 1 << 3 | 4)
    elif other < 0.1:
        end = b""
    content = start * (depth + 1) + _encoded(inside) + end * (depth + 1)
    fields.insert(_place(fields, draw), [0, None, content])


def _kind(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Insert a field with the number of a known one and another wire type."""
    number = draw.choice(list(descriptor.fields_by_number))
    kind = draw.choice((0, 1, 2, 5))
    content = {0: b"\x07", 1: bytes(8), 2: b"", 5: bytes(4)}[kind]
    fields.insert(_place(fields, draw), [number, kind, content])


def _repeated(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Repeat a field, with the same or other contents: of singular fields, the last counts."""
    if not fields:
        return
    number, kind, content = draw.choice(fields)
    same = [item for item in fields if item[0] == number and item[1] == kind]
    content = draw.choice([content, draw.choice(same)[2]])
    if isinstance(content, list):
        content = [list(item) for item in content if draw.random() < 0.7]
    elif kind == 0:
        content = varint(draw.randrange(30))
    fields.insert(_place(fields, draw), [number, kind, content])


def _split(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Divide a message into two fields, which protobuf joins if the field is singular."""
    found = [at for at, item in enumerate(fields) if isinstance(item[2], list) and item[1] == 2]
    if not found:
        return
    at = draw.choice(found)
    number, kind, content = fields[at]
    cut = _place(content, draw)
    fields[at] = [number, kind, content[:cut]]
    fields.insert(at + 1, [number, kind, content[cut:]])
    if draw.random() < 0.3:
        _unknown(fields, descriptor, draw)


def _reordered(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    draw.shuffle(fields)


def _packed(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Join the numbers of a repeated field in one field, or give each a field of its own."""
    for number, field in descriptor.fields_by_number.items():
        if not field.is_repeated or field.message_type is not None:
            continue
        size = {field.TYPE_FLOAT: 4, field.TYPE_DOUBLE: 8}.get(field.type, 0)
        if field.type in (field.TYPE_STRING, field.TYPE_BYTES):
            continue
        own = [item for item in fields if item[0] == number and item[1] is not None]
        if not own:
            continue
        kind = {0: 0, 4: 5, 8: 1}[size]
        packed = b"".join(item[2] for item in own)
        fields[:] = [item for item in fields if item not in own]
        if any(item[1] != 2 for item in own):
            fields.append([number, 2, packed])
            continue
        at = 0
        while at < len(packed):
            after = at + size if size else _number(packed, at)[1]
            fields.append([number, kind, packed[at:after]])
            at = after


def _longer(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Encode a tag, a length or a number with more bytes than needed, or than allowed."""
    if not fields:
        return
    at = draw.randrange(len(fields))
    number, kind, content = fields[at]
    if kind is None:
        return
    inside = _encoded(content) if isinstance(content, list) else content
    tag = varint(number << 3 | kind, draw.choice((1, 2, 5, 5, 6)))
    length = varint(len(inside), draw.choice((1, 5, 5, 6, 10))) if kind == 2 else b""
    if kind == 0:
        inside = varint(_number(inside, 0)[0], draw.choice((2, 5, 10, 10, 11)))
    fields[at] = [0, None, tag + length + inside]


def _wrong(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Insert what no message may contain."""
    tags = (b"\x00\x01", b"\x02\x01a", b"\x04", b"\x0e\x01", b"\x0f", varint(UNKNOWN << 3 | 4),
            varint(1 << 32 | 8) + b"\x01", varint(UNKNOWN << 3 | 2) + varint((1 << 31) - 1),
            varint(UNKNOWN << 3 | 2) + varint(1 << 40))  # fmt: skip
    fields.insert(_place(fields, draw), [0, None, draw.choice(tags)])


def _text(fields: list[Wire], descriptor: Any, draw: random.Random) -> None:
    """Make a string that is not UTF-8."""
    found = [item for item in fields if item[1] == 2 and isinstance(item[2], bytes)]
    if found:
        draw.choice(found)[2] = draw.choice((b"\xff", b"a\0b", b"\xed\xa0\x80", b""))


#: The changes of one message: its fields and its descriptor are given.
WAYS: tuple[Callable[[list[Wire], Any, random.Random], None], ...] = (
    _unknown,
    _group,
    _kind,
    _repeated,
    _split,
    _reordered,
    _packed,
    _longer,
    _wrong,
    _text,
)


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _junk(data: bytes, draw: random.Random) -> bytes:
    return data + draw.randbytes(draw.randint(1, 9))


def _flipped(data: bytes, draw: random.Random) -> bytes:
    found = bytearray(data or b"\0")
    found[draw.randrange(len(found))] ^= 1 << draw.randrange(8)
    return bytes(found)


#: The changes of the bytes of the whole file.
DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (_cut, _junk, _flipped)
