"""Edits parts of an IR as text; everything else, including comments and white space, is kept.

An edit identifies an element by the same path as findings
(``net/layers/layer[@id=4]/port_map/output[2]``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.parsers import expat

from irloop.errors import UnsupportedError
from irloop.formats.openvino.document import Document
from irloop.formats.openvino.numbers import unsigned
from irloop.graph.record import Record

__all__ = [
    "AddElement",
    "Edit",
    "InsertBefore",
    "RemoveElement",
    "SetAttribute",
    "SetText",
    "edited",
    "escaped",
    "overlap",
]


class SetAttribute(Record):
    """Set an attribute of an element to a value, or remove it (None)."""

    element: str
    name: str
    value: str | None


class RemoveElement(Record):
    """Remove an element, and its whole line if nothing else is on it."""

    element: str


class AddElement(Record):
    """Add an element without content as the last child of `parent`."""

    parent: str
    tag: str
    attributes: tuple[tuple[str, str], ...]


class InsertBefore(Record):
    """Insert lines of XML before an element; they are indented like it."""

    element: str
    lines: tuple[str, ...]


class SetText(Record):
    """Replace the content of an element by text."""

    element: str
    text: str


Edit = SetAttribute | RemoveElement | AddElement | InsertBefore | SetText


class _Span(NamedTuple):
    """The byte offsets of an element and of its content.

    `start` and `end` enclose the whole element. `tag_end` is the end of the start tag and `end_tag`
    the start of the end tag. For an element without an end tag, `tag_end`, `end_tag` and `end` are
    equal.
    """

    start: int
    tag_end: int
    end_tag: int
    end: int


def edited(document: Document, edits: Sequence[Edit]) -> bytes:
    """The bytes of a document after the edits, which must not overlap.

    Raises:
        UnsupportedError: if the file is not UTF-8, or an edit names an element that does not exist.
    """
    data = document.data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsupportedError(
            "only files in UTF-8 can be fixed", fix="save it as UTF-8"
        ) from error
    spans = _spans(document)
    changes = sorted((_change(data, spans, edit) for edit in edits), reverse=True)
    for start, end, text in changes:
        data = data[:start] + text + data[end:]
    return data


def overlap(first: Edit, second: Edit) -> bool:
    """Return whether two edits cannot both be made.

    Two SetAttribute edits overlap if they set the same attribute. Two other edits of the same class
    overlap if they name the same element. Besides, an edit that removes an element overlaps with
    every edit at or inside this element.
    """
    if isinstance(first, SetAttribute) and isinstance(second, SetAttribute):
        return (first.element, first.name) == (second.element, second.name)
    places = [edit.parent if isinstance(edit, AddElement) else edit.element
              for edit in (first, second)]  # fmt: skip
    if type(first) is type(second) and not isinstance(first, RemoveElement):
        return places[0] == places[1]
    for removed, other in ((first, places[1]), (second, places[0])):
        if isinstance(removed, RemoveElement) and f"{other}/".startswith(f"{removed.element}/"):
            return True
    # Sibling numbers refer to the unchanged file, so a removed element does not shift them.
    return False


def _spans(document: Document) -> dict[str, _Span]:
    """The position of each element in the file, keyed by its path.

    If several elements have the same path, only the position of the first is kept.
    """
    data = document.data
    spans: dict[str, _Span] = {}
    #: The open elements: for each the path, the first byte, and the number of children with each
    #: tag so far.
    stack: list[tuple[str, int, dict[str, int]]] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        start, step = parser.CurrentByteIndex, tag
        if stack:
            counts = stack[-1][2]
            counts[tag] = counts.get(tag, 0) + 1
            number = unsigned(attributes.get("id"))
            if tag in ("layer", "port") and number is not None:
                step = f"{tag}[@id={number}]"
            elif counts[tag] > 1:
                step = f"{tag}[{counts[tag]}]"
            step = f"{stack[-1][0]}/{step}"
        stack.append((step, start, {}))

    def end(_tag: str) -> None:
        path, start, _ = stack.pop()
        tag_end = _end_of_tag(data, start)
        end_tag = parser.CurrentByteIndex
        if data[tag_end - 2 : tag_end] == b"/>":
            span = _Span(start, tag_end, tag_end, tag_end)
        else:
            span = _Span(start, tag_end, end_tag, data.index(b">", end_tag) + 1)
        spans.setdefault(path, span)

    parser = expat.ParserCreate()
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.Parse(data, True)
    return spans


def _end_of_tag(data: bytes, start: int) -> int:
    """The position after the ``>`` of a start tag; a ``>`` in quotes does not count."""
    quote = 0
    for position in range(start, len(data)):
        char = data[position]
        if quote:
            quote = 0 if char == quote else quote
        elif char in b"\"'":
            quote = char
        elif char == ord(">"):
            return position + 1
    return len(data)


def _change(data: bytes, spans: dict[str, _Span], edit: Edit) -> tuple[int, int, bytes]:
    """The start and the end of the bytes that an edit replaces, and the new bytes."""
    path = edit.parent if isinstance(edit, AddElement) else edit.element
    # Paths in findings number every child, but the keys of `spans` do not number the first one.
    path = path.replace("[1]", "")
    span = spans.get(path)
    if isinstance(edit, AddElement):
        attributes = "".join(f' {name}="{escaped(value)}"' for name, value in edit.attributes)
        text = f"<{edit.tag}{attributes}/>"
        outer, _, tag = path.rpartition("/")
        if span is None and outer in spans:
            # The section does not exist yet: add it with its first element.
            return _child(data, spans[outer], f"<{tag}>{text}</{tag}>".encode())
        if span is not None:
            return _child(data, span, text.encode())
    if span is None or isinstance(edit, AddElement):
        raise UnsupportedError(f"the file has no element {path}")
    if isinstance(edit, SetAttribute):
        return _attribute(data, span, edit)
    if isinstance(edit, SetText):
        return span.tag_end, span.end_tag, escaped(edit.text).encode()
    if isinstance(edit, InsertBefore):
        return _inserted(data, span.start, edit.lines)
    start, end = _line(data, span.start, span.end)
    return start, end, b""


def _child(data: bytes, span: _Span, text: bytes) -> tuple[int, int, bytes]:
    """The edit that adds `text` as the last child of an element: start, end and new bytes."""
    if data[span.tag_end - 2 : span.tag_end] == b"/>":
        name = re.match(rb"<([^\s/>]+)", data[span.start : span.tag_end])
        assert name is not None
        indent = _indent(data, span.start)
        inner = b"\n" + indent + b"\t" + text + b"\n" + indent
        return span.tag_end - 2, span.tag_end, b">" + inner + b"</" + name[1] + b">"
    # Indent like the last child, or one level deeper than the parent.
    before = data[span.tag_end : span.end_tag].rstrip()
    position = span.tag_end + len(before)
    last = data.rfind(b"\n", 0, position) + 1
    indent = _indent(data, position) if before else _indent(data, span.start) + b"\t"
    separator = b"\n" + indent if last > span.tag_end or not before else b""
    tail = b"" if b"\n" in data[position : span.end_tag] or not separator else b"\n" + _indent(
        data, span.start
    )  # fmt: skip
    return position, position, separator + text + tail


def _inserted(data: bytes, start: int, lines: Sequence[str]) -> tuple[int, int, bytes]:
    """Make an edit that inserts lines before the element that begins at byte `start`.

    Returns the begin and the end of the bytes to replace, and the new text. Nothing is replaced, so
    begin and end are equal. If the element does not begin a line, the new text has no line breaks.
    """
    indent = _indent(data, start)
    first = data.rfind(b"\n", 0, start) + 1
    if not first or data[first:start] != indent:
        return start, start, "".join(line.strip() for line in lines).encode()
    end = b"\r\n" if data[first - 2 : first] == b"\r\n" else b"\n"
    return first, first, b"".join(indent + line.encode() + end for line in lines)


def escaped(value: str) -> str:
    """Escape the characters of a text that are reserved in XML."""
    # This replaces the function in xml.sax.saxutils, because importing that module also imports an
    # HTTP client.
    for character, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        value = value.replace(character, reference)
    return value


def _attribute(data: bytes, span: _Span, edit: SetAttribute) -> tuple[int, int, bytes]:
    tag = data[span.start : span.tag_end]
    pattern = rb"(\s+)" + re.escape(edit.name.encode()) + rb"(\s*=\s*)(\"[^\"]*\"|'[^']*')"
    match = next(
        (item for item in re.finditer(pattern, tag) if _is_outside_quotes(tag, item.start())), None
    )
    if match is None:
        if edit.value is None:
            return span.start, span.start, b""
        end = span.tag_end - (2 if tag.endswith(b"/>") else 1)
        while data[end - 1 : end].isspace():
            end -= 1
        return end, end, f' {edit.name}="{escaped(edit.value)}"'.encode()
    if edit.value is None:
        return span.start + match.start(), span.start + match.end(), b""
    new = f'"{escaped(edit.value)}"'.encode()
    return span.start + match.start(3), span.start + match.end(3), new


def _is_outside_quotes(tag: bytes, at: int) -> bool:
    quote = 0
    for char in tag[:at]:
        if quote:
            quote = 0 if char == quote else quote
        elif char in b"\"'":
            quote = char
    return not quote


def _line(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Extend a range to its whole line if nothing else is on the line."""
    first = data.rfind(b"\n", 0, start) + 1
    last = data.find(b"\n", end)
    last = len(data) if last < 0 else last + 1
    if data[first:start].strip() or data[end:last].strip():
        return start, end
    return first, last


def _indent(data: bytes, at: int) -> bytes:
    """Return the white space at the beginning of the line that contains position `at`."""
    start = data.rfind(b"\n", 0, at) + 1
    match = re.match(rb"[ \t]*", data[start:])
    assert match is not None
    return match[0]
