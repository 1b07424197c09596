"""Removes ports and edges in their usual form from an IR before parsing, to make it faster.

    <input>                    <input _part_="7"/>
      <port id="0" precision="FP32">
        <dim>1</dim>    ->
      </port>
    </input>

The parser calls Python for every element, and nearly all elements are ports, dimensions and edges.
They are the same in many layers, so this module reads each distinct text only once. Line breaks are
kept, so the other elements stay on their lines, but their columns may change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["ATTRIBUTE", "Edges", "Part", "PlainPort", "Ports", "taken"]

#: The attribute that replaces the text of a part of the file, such as the ports of a layer; its
#: value is the number of the part.
ATTRIBUTE = "_part_"

_SPACE = rb"[ \t\n]*+"
_PORT = (
    rb'<port id="[0-9]{1,9}"(?: precision="[A-Za-z0-9]{1,16}")?+'
    # Printable ASCII without the characters that markup or entities need.
    rb"(?: names=\"[ !#-%'-;=?-~]*+\")?+"
    rb"(?:/>|>" + _SPACE + rb"(?:<dim>-?[0-9]{1,20}</dim>" + _SPACE + rb")*+</port>)"
)
_INPUT = rb"<input>" + _SPACE + rb"(?:" + _PORT + _SPACE + rb")++</input>"
_OUTPUT = rb"<output>" + _SPACE + rb"(?:" + _PORT + _SPACE + rb")++</output>"
_EDGE = (
    rb'<edge from-layer="[0-9]{1,18}" from-port="[0-9]{1,9}" '
    rb'to-layer="[0-9]{1,18}" to-port="[0-9]{1,9}" ?+/>'
)
_EDGES = rb"<edges>" + _SPACE + rb"(?:" + _EDGE + _SPACE + rb")++</edges>"
_PARTS = re.compile(
    _INPUT + rb"(?:" + _SPACE + _OUTPUT + rb")?+" + rb"|" + _OUTPUT + rb"|" + _EDGES
)
#: One port of a part, or the tag before the outputs.
_ITEM = re.compile(
    r'(<output>)|<port id="(\d+)"(?: precision="(\w+)")?(?: names="([^"]*)")?(/?>)'
    r"((?:\s*<dim>[^<]*</dim>)*)"
)
_ONE_EDGE = re.compile(
    r'(\s*)<edge from-layer="(\d+)" from-port="(\d+)" to-layer="(\d+)" to-port="(\d+)"'
)
_DIM = re.compile(r"<dim>([^<]*)</dim>")

#: Finds the declaration of an encoding other than these three, in which tags may not be the bytes
#: of ASCII.
_ENCODING = re.compile(rb"encoding\s*=\s*[\"'](?!(?:utf-8|us-ascii|iso-8859-1)[\"'])", re.I)

#: A file with one of these texts or with `<!` is left unchanged: what looks like a tag may be in a
#: comment, `\r` may change the numbers of lines, and the other two are irloop's own names.
_UNUSUAL = (b"\r", b"_part_", b"_dims_")


class PlainPort(NamedTuple):
    """A port of a layer.

    `line` is counted from the line on which the text with the `<input>` and `<output>` begins.
    """

    id: str
    precision: str | None
    names: str | None
    dims: tuple[str, ...]
    line: int


class Ports(NamedTuple):
    """The `<input>` and the `<output>` of a layer; None for a missing one."""

    inputs: tuple[PlainPort, ...] | None
    outputs: tuple[PlainPort, ...] | None


class Edges:
    """The `<edges>` of a net."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def __iter__(self) -> Iterator[tuple[int, tuple[str, str, str, str]]]:
        """For each edge, its line relative to the line of the section, and its four attributes."""
        line = 0
        for match in _ONE_EDGE.finditer(self._text.decode("ascii"), len("<edges>")):
            space, *ends = match.groups()
            line += space.count("\n")
            yield line, (ends[0], ends[1], ends[2], ends[3])


Part = Ports | Edges


def taken(data: bytes) -> tuple[bytes, list[Part], int]:
    """Take the plain parts out of an IR: ports and edges in their usual form.

    Returns the shorter document, the distinct parts, and the number of parts that were taken out.
    Text in this form may also occur outside of layers and nets. Therefore the caller counts the
    parts that it finds in layers and nets, and reads the original document if some are missing. A
    document with anything unusual is returned unchanged.
    """
    # Search for `!` first, because a search for one character is much faster than one for two.
    is_unusual = (b"!" in data and b"<!" in data) or any(text in data for text in _UNUSUAL)
    if is_unusual or _ENCODING.search(data, 0, 1024):
        return data, [], 0
    parts = _Parts()
    shorter, count = _PARTS.subn(parts, data)
    return shorter, parts.found, count


class _Parts(dict[bytes, bytes]):
    """Maps a piece of XML to a short element with a number, and collects the replaced pieces.

    `found` lists the pieces, as they were read, by number. Equal port sections get one number,
    which saves time, because they occur repeatedly in a model.
    """

    def __init__(self) -> None:
        self.found: list[Part] = []

    def __call__(self, match: re.Match[bytes]) -> bytes:
        return self[match.group()]

    def __missing__(self, text: bytes) -> bytes:
        tag = text[1 : text.index(b">")]
        part: Part
        if tag == b"edges":
            part = Edges(text)
        else:
            # The ports of small layers are the same in many models, so they are read only once.
            read = _ports if len(text) > _SHORT else _known_ports
            part = read(text.decode("ascii"))
        lines = b"\n" * text.count(b"\n")
        number = len(self.found)
        self.found.append(part)
        made = b'<%b %b="%d">%b</%b>' % (tag, ATTRIBUTE.encode(), number, lines, tag)
        if tag != b"edges":
            self[text] = made
        return made


def _ports(text: str) -> Ports:
    """The ports in the text of an `<input>`, an `<output>`, or both."""
    has_inputs, has_outputs = text.startswith("<input>"), "<output>" in text
    inputs: list[PlainPort] = []
    outputs: list[PlainPort] = []
    current = inputs if has_inputs else outputs
    line = at = 0
    for match in _ITEM.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        tag, key, precision, names, _, dims = match.groups()
        if tag is not None:
            current = outputs
            continue
        found = tuple(_DIM.findall(dims))
        current.append(PlainPort(key, precision, names, found, line))
    return Ports(tuple(inputs) if has_inputs else None, tuple(outputs) if has_outputs else None)


#: Maximum number of bytes of a text that is remembered.
_SHORT = 1024
_known_ports = lru_cache(maxsize=4096)(_ports)
