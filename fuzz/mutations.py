"""Changes inputs at random: bytes, fields of protobufs, elements of XML."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import onnx
from markup_changes import changed_markup
from wire_changes import changed_wire

__all__ = ["Mutator"]

#: Sizes, axes, counts and offsets that code often handles wrongly.
NUMBERS = (0, 1, -1, 2, 3, 7, 127, 128, 255, 1 << 16, 10**6, 10**9, 1 << 31, (1 << 31) - 1,
           -(1 << 31), 1 << 32, 1 << 62, (1 << 63) - 1, -(1 << 63))  # fmt: skip
FLOATS = (0.0, -1.0, 0.5, 1e-45, 1e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "\n::error x", "a/b", "\x1b[2J", "x" * 300, "..", "\u202e", "1,2", "nan", "-1", "?",
         "dynamic", "true", "1e400", "numpy", "opset1", "f32", "FP32", "i64", "string")  # fmt: skip
ENUMS = {"element_type", "precision", "destination_type", "output_type", "index_element_type"}
ELEMENT_TYPES = ("f32", "f64", "f16", "bf16", "i64", "i32", "u8", "i4", "u1", "nf4", "boolean",
                 "string", "dynamic")  # fmt: skip

#: The kinds whose inputs are only changed as bytes, and those that are texts.
_AS_BYTES = ("npz", "settings", "table", "archive", "onnx-text")
_TEXTS = ("ir", "settings", "onnx-text")


class Mutator:
    """Creates inputs of one kind from seeds; the number of an input determines it."""

    def __init__(self, kind: str, seeds: list[bytes], seed: int) -> None:
        self._kind = {"page": "onnx", "old-ir": "ir"}.get(kind, kind)
        #: By size, because small seeds are drawn more often: they take less time, and a change of
        #: one part of a few matters more.
        self._seeds = sorted(seeds, key=len)
        #: The weights of each seed, which follow its markup after a NUL.
        self._weights: list[bytes] = []
        if kind == "old-ir":
            parts = [seed.partition(b"\0") for seed in self._seeds]
            self._seeds = [markup for markup, _, _ in parts]
            self._weights = [weights for _, _, weights in parts]
        self._seed = seed
        self._parsed: dict[int, Any] = {}

    def make(self, number: int) -> bytes:
        """Input `number`."""
        draw = random.Random(f"{self._seed}-{number}")  # noqa: S311
        at = min(draw.randrange(len(self._seeds)), draw.randrange(len(self._seeds)))
        made = self._changed(at, draw)
        if not self._weights:
            return made
        weights = self._weights[at]
        if draw.random() < 0.2:
            weights = changed_bytes(weights, draw, is_text=False)
        return made + b"\0" + weights

    def _changed(self, at: int, draw: random.Random) -> bytes:
        """A seed with changes."""
        if self._kind == "ir-readings":
            return bytes(changed_markup(self._seeds[at], draw))
        if self._kind == "onnx-readings":
            return bytes(changed_wire(self._seeds[at], onnx.ModelProto.DESCRIPTOR, draw))
        if self._kind in _AS_BYTES or draw.random() < 0.2:
            return changed_bytes(self._seeds[at], draw, is_text=self._kind in _TEXTS)
        made, other = self._parse(at), self._tree(draw.randrange(len(self._seeds)))
        if made is None or other is None:
            return changed_bytes(self._seeds[at], draw, is_text=self._kind == "ir")
        change: Callable[[Any, Any, random.Random], None]
        change = change_message if self._kind == "onnx" else change_element
        for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 6))):
            change(made, other, draw)
        if self._kind == "onnx":
            return bytes(made.SerializeToString())
        return ElementTree.tostring(made)

    def _tree(self, at: int) -> Any:
        if at not in self._parsed:
            self._parsed[at] = self._parse(at)
        return self._parsed[at]

    def _parse(self, at: int) -> Any:
        """A new tree, which takes less time than a copy; None if the seed is damaged itself."""
        try:
            if self._kind == "onnx":
                return onnx.ModelProto.FromString(self._seeds[at])
            return ElementTree.fromstring(self._seeds[at])  # noqa: S314 (our own seeds)
        except Exception:
            return None


def changed_bytes(data: bytes, draw: random.Random, *, is_text: bool) -> bytes:
    """The bytes of an input with a few of them changed."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        if not found:
            return b""
        at = draw.randrange(len(found))
        way = draw.random()
        if way < 0.35 and is_text:
            found = bytearray(_other_word(bytes(found), draw))
        elif way < 0.35:
            # A varint of a protobuf, or a field of a ZIP archive.
            found[at : at + 1] = _varint(draw.choice(NUMBERS))
        elif way < 0.6:
            found[at] = draw.randrange(256)
        elif way < 0.75:
            end = min(len(found), at + draw.randint(1, 16))
            del found[at:end]
        elif way < 0.9:
            start = draw.randrange(len(found))
            found[at:at] = found[start : start + draw.randint(1, 40)]
        else:
            found[at] ^= 1 << draw.randrange(8)
    return bytes(found)


def _other_word(data: bytes, draw: random.Random) -> bytes:
    """The data with a string, a number, a name or a tag replaced by another one or by a number."""
    words = list(re.finditer(rb'"[^"\n]*"|\d+|<[^>\n]*>|\b[a-zA-Z]\w*', data))
    if not words:
        return data
    one, other = draw.choice(words), draw.choice(words)
    new = other.group()
    if draw.random() < 0.6 and one.group()[:1] != b"<":
        new = str(draw.choice(NUMBERS)).encode()
        new = b'"' + new + b'"' if one.group()[:1] == b'"' else new
    return data[: one.start()] + new + data[one.end() :]


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while True:
        found.append(number & 127 | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(found)


def change_message(message: Any, donor: Any, draw: random.Random) -> None:
    """Change one field of a protobuf message; parts of `donor` may be copied."""
    places = list(_fields(message))
    if not places:
        return
    parent, field = draw.choice(places)
    if not field.is_repeated:
        _set_field(parent, field, donor, draw)
        return
    items = getattr(parent, field.name)
    at = draw.randrange(len(items))
    way = draw.random()
    is_message = field.message_type is not None
    if way < 0.2:
        del items[at]
    elif way < 0.35 and len(items) < 1000:
        items.append(items[draw.randrange(len(items))])
    elif way < 0.5:
        other = draw.randrange(len(items))
        one = copy.deepcopy(items[at]) if is_message else items[at]
        if is_message:
            items[at].CopyFrom(copy.deepcopy(items[other]))
            items[other].CopyFrom(one)
        else:
            items[at], items[other] = items[other], one
    elif is_message:
        items[at].CopyFrom(_part_of(donor, field, draw) or items[at])
    else:
        items[at] = _scalar(field, items[at], donor, draw)


def _fields(message: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    for field, value in message.ListFields():
        yield message, field
        if field.message_type is not None and depth < 12:
            for item in value if field.is_repeated else [value]:
                yield from _fields(item, depth + 1)


def _set_field(parent: Any, field: Any, donor: Any, draw: random.Random) -> None:
    if draw.random() < 0.15:
        parent.ClearField(field.name)
    elif field.message_type is not None:
        found = _part_of(donor, field, draw)
        if found is not None:
            getattr(parent, field.name).CopyFrom(found)
    else:
        value = _scalar(field, getattr(parent, field.name), donor, draw)
        setattr(parent, field.name, value)


def _part_of(donor: Any, field: Any, draw: random.Random) -> Any:
    found = [
        item
        for parent, other in _fields(donor)
        if other.message_type is field.message_type
        for item in (
            getattr(parent, other.name) if other.is_repeated else [getattr(parent, other.name)]
        )
    ]
    return copy.deepcopy(draw.choice(found)) if found else None


def _scalar(field: Any, value: Any, donor: Any, draw: random.Random) -> Any:
    """Another value of a field, with a kind and size that the field allows."""
    if field.enum_type is not None:
        return draw.choice([item.number for item in field.enum_type.values])
    if isinstance(value, int):
        bits = 31 if field.cpp_type in (field.CPPTYPE_INT32,) else 63
        low, high = -(1 << bits), (1 << bits) - 1
        if field.cpp_type in (field.CPPTYPE_UINT64, field.CPPTYPE_UINT32):
            low, high = 0, (1 << (64 if field.cpp_type == field.CPPTYPE_UINT64 else 32)) - 1
        new = draw.choice((*NUMBERS, value + 1, value - 1, -value, draw.randint(0, 24)))
        return min(max(new, low), high)
    if isinstance(value, float):
        return draw.choice(FLOATS)
    if isinstance(value, bytes):
        return changed_bytes(value, draw, is_text=False)
    same = [
        getattr(parent, other.name)
        for parent, other in _fields(donor)
        if other.name == field.name and not other.is_repeated and other.cpp_type == field.cpp_type
    ]
    return draw.choice([*TEXTS, *same, *same])


def change_element(root: Any, donor: Any, draw: random.Random) -> None:
    """Change one element of an XML tree; parts of `donor` may be copied."""
    elements = list(root.iter())
    # Most elements are dimensions and ports, but operations differ in the attributes of `data`.
    settings = [item for item in elements if item.tag == "data"]
    element = draw.choice(settings if settings and draw.random() < 0.2 else elements)
    way = draw.random()
    if way < 0.5 and element.attrib:
        name = draw.choice(list(element.attrib))
        element.set(name, _attribute(name, element.get(name), elements, donor, draw))
    elif way < 0.6 and element.attrib:
        del element.attrib[draw.choice(list(element.attrib))]
    elif way < 0.7 and len(element):
        element.remove(draw.choice(list(element)))
    elif way < 0.8 and len(element):
        child = copy.deepcopy(draw.choice(list(element)))
        element.insert(draw.randrange(len(element) + 1), child)
    elif way < 0.9:
        same = [item for item in donor.iter(element.tag) if item is not donor]
        if same:
            element.append(copy.deepcopy(draw.choice(same)))
    elif element.text and element.text.strip():
        element.text = str(draw.choice((*NUMBERS, *TEXTS[:6])))
    else:
        other = draw.choice(elements)
        element.attrib, other.attrib = other.attrib, element.attrib


def _attribute(name: str, text: str, elements: list[Any], donor: Any, draw: random.Random) -> str:
    way = draw.random()
    if name in ENUMS and way < 0.6:
        return draw.choice(ELEMENT_TYPES)
    if way < 0.3:
        same = [item.get(name) for item in (*elements, *donor.iter()) if item.get(name)]
        return str(draw.choice(same or [""]))
    if way < 0.4:
        return draw.choice(TEXTS[:1] + TEXTS[2:3] + TEXTS[6:])
    numbers = list(re.finditer(r"-?\d+", text or ""))
    if not numbers:
        return str(draw.choice(NUMBERS))
    one = draw.choice(numbers)
    new = draw.choice((*NUMBERS, draw.randint(0, 9), draw.randint(0, 9)))
    return f"{text[: one.start()]}{new}{text[one.end() :]}"
