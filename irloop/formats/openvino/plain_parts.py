"""Replaces layers, ports and edges of an IR by short elements, to speed up parsing.

For example, these lines become ``<input _part_="7">``, the same line breaks, and ``</input>``,
where 7 is the number of the replaced part:

    <input>
      <port id="0" precision="FP32">
        <dim>1</dim>
      </port>
    </input>

Only parts in their usual form are replaced. The XML parser calls Python for every element. Here, a
single match of a regular expression covers a whole layer or, if the layer is not in the usual form,
its ports. Ports with the same text are read only once. As line breaks are kept, the other elements
stay on their lines, but their columns may change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeVar

from irloop.errors import ReadError

__all__ = ["ATTRIBUTE", "Edges", "Layers", "Part", "PlainBlob", "PlainPort", "Ports", "taken"]

#: The attribute that replaces the text of a part of the file, such as the ports of a layer; its
#: value is the number of the part.
ATTRIBUTE = "_part_"

_SPACE = r"[ \t\n]*+"
#: Printable ASCII without the characters that markup or entities need.
_TEXT = r"[ !#-%'-;=?-~]*+"
_PORT = (
    r'<port id="[0-9]{1,9}"(?: precision="[A-Za-z0-9]{1,16}")?+'
    rf'(?: names="{_TEXT}")?+'
    rf"(?:/>|>{_SPACE}(?:<dim>-?[0-9]{{1,20}}</dim>{_SPACE})*+</port>)"
)
_INPUT = rf"<input>{_SPACE}(?:{_PORT}{_SPACE})++</input>"
_OUTPUT = rf"<output>{_SPACE}(?:{_PORT}{_SPACE})++</output>"
_PORTS = rf"{_INPUT}(?:{_SPACE}{_OUTPUT})?+|{_OUTPUT}"
_EDGE = (
    r'<edge from-layer="[0-9]{1,18}" from-port="[0-9]{1,9}" '
    r'to-layer="[0-9]{1,18}" to-port="[0-9]{1,9}" ?+/>'
)
_EDGES = rf"<edges>{_SPACE}(?:{_EDGE}{_SPACE})++</edges>"
_PARTS = re.compile(f"{_PORTS}|{_EDGES}")
_NAME = "[A-Za-z_][A-Za-z0-9_]*+"
#: The name of an attribute of `<data>`; in versions 2 to 7 it may have hyphens.
_KEY = "[A-Za-z_][A-Za-z0-9_-]*+"
_BLOB = (
    r'<(?:weights|biases|custom) offset="[0-9]{1,20}"(?: precision="[A-Za-z0-9]{1,16}")?+ '
    r'size="[0-9]{1,20}" ?+/>'
)
_BLOBS = rf"(?:<blobs>{_SPACE}(?:{_BLOB}{_SPACE})++</blobs>{_SPACE})?+"
#: Layers of versions 2 to 7 have no version, but may have a precision and blobs.
_LAYER = re.compile(
    rf'<layer id="([0-9]{{1,18}})" name="({_TEXT})"(?: precision="({_NAME})")?+ type="({_NAME})"'
    rf'(?: version="({_NAME})")?+>({_SPACE})(?:<data((?: {_KEY}="{_TEXT}")*+) ?+/>)?+'
    rf"({_SPACE}(?:(?:{_PORTS}){_SPACE})?+)({_BLOBS})</layer>({_SPACE})"
)
_ONE_ATTRIBUTE = re.compile(rf' ({_KEY})="({_TEXT})"')
_ONE_BLOB = re.compile(rf'(\s*)<(\w+)((?: {_NAME}="{_TEXT}")+)')
#: One port of a part, or the tag before the outputs.
_ITEM = re.compile(
    r'(<output>)|<port id="(\d+)"(?: precision="(\w+)")?(?: names="([^"]*)")?(/?>)'
    r"((?:\s*<dim>[^<]*</dim>)*)"
)
_ONE_EDGE = re.compile(
    r'(\s*)<edge from-layer="(\d+)" from-port="(\d+)" to-layer="(\d+)" to-port="(\d+)"'
)
_DIM = re.compile(r"<dim>([^<]*)</dim>")


class PlainPort(NamedTuple):
    """A port of a layer.

    `line` is the number of lines between the first tag of the layer's ports and this port. The
    first tag is `<input>`, or `<output>` if the layer has no inputs.
    """

    id: str
    precision: str | None
    names: str | None
    dims: tuple[str, ...]
    line: int


class Ports(NamedTuple):
    """The ports in the `<input>` and in the `<output>` of a layer; None if that is missing."""

    inputs: tuple[PlainPort, ...] | None
    outputs: tuple[PlainPort, ...] | None


#: What the reader makes of the ports of a layer.
PortsT = TypeVar("PortsT")

#: The tag, the attributes and the line of an element in `<blobs>`.
PlainBlob = tuple[str, dict[str, str], int]
#: A layer of a run: its attributes, its line, the attributes of `<data>` and their line, its ports,
#: and its blobs. The attributes of `<data>` are None without it. Lines are counted from the line on
#: which the run begins.
PlainLayer = tuple[dict[str, str], int, dict[str, str] | None, int, PortsT, tuple[PlainBlob, ...]]


class Layers:
    """A run of layers with nothing but white space between them."""

    def __init__(self) -> None:
        #: The matches of `_LAYER`.
        self.matches: list[re.Match[str]] = []
        #: The attributes of every `<data>` that `read` has found, by their text; equal attributes
        #: are one object.
        self.data: dict[str | None, dict[str, str] | None] = {None: None}

    def read(self, make_ports: Callable[[Ports, int], PortsT]) -> Iterator[PlainLayer[PortsT]]:
        """Yield the layers in order.

        `make_ports(ports, below)` is called once for each distinct text of ports, and its result is
        yielded with all layers whose ports have this text. `below` is the number of lines from the
        first line of a layer to its ports.
        """
        # Most layers have the same ports or the same attributes as another one.
        known_data = self.data
        known_ports: dict[tuple[str, str], tuple[PortsT, int, int]] = {}
        line = 0
        for match in self.matches:
            key, name, precision, kind, version, space, attributes, rest, blobs, end = (
                match.groups()
            )
            if attributes not in known_data:
                known_data[attributes] = _attributes(attributes)
            text = space, rest
            made = known_ports.get(text)
            if made is None:
                below = space.count("\n")
                ports, before, lines = _ports_in(rest)
                made = make_ports(ports, below + before), below, below + lines
                known_ports[text] = made
            own = {"id": key, "name": name, "type": kind, "version": version}
            if precision is not None or version is None:
                pairs = ("precision", precision), ("type", kind), ("version", version)
                own = {"id": key, "name": name} | {key: text for key, text in pairs if text}
            yield (
                own,
                line,
                known_data[attributes],
                line + made[1],
                made[0],
                _blobs(blobs, line + made[2]) if blobs else (),
            )
            line += made[2] + end.count("\n")
            if blobs:
                line += blobs.count("\n")


def _attributes(text: str) -> dict[str, str]:
    """The attributes of an element.

    Raises:
        ReadError: when two attributes have the same name, which XML does not allow.
    """
    found = _ONE_ATTRIBUTE.findall(text)
    attributes = dict(found)
    if len(attributes) < len(found):
        raise ReadError("duplicate attribute")
    return attributes


def _blobs(text: str, line: int) -> tuple[PlainBlob, ...]:
    """The elements in a `<blobs>` that begins on `line`."""
    blobs = []
    for match in _ONE_BLOB.finditer(text, text.index(">") + 1):
        line += match[1].count("\n")
        blobs.append((match[2], dict(_ONE_ATTRIBUTE.findall(match[3])), line))
    return tuple(blobs)


class Edges:
    """The `<edges>` of a net."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[tuple[int, str, str, str, str]]:
        """Yield the line of each edge, relative to that of `<edges>`, and its four attributes."""
        line = 0
        for space, from_layer, from_port, to_layer, to_port in _ONE_EDGE.findall(self._text):
            line += space.count("\n")
            yield line, from_layer, from_port, to_layer, to_port


Part = Ports | Edges | Layers


def taken(data: bytes) -> tuple[bytes, list[Part], int]:
    """Replace the layers, ports and edges of an IR that are in their usual form by short elements.

    Returns the shorter document, the distinct parts, and the number of replacements. Text in this
    form may also occur in a document where it is not a layer, a port or an edge.
    Therefore the caller counts the parts that it finds in nets and layers, and reads the original
    document if some are missing. A document with anything unusual, such as a comment, is returned
    unchanged.
    """
    # What looks like a tag may be in a comment, and `\r` may change the numbers of lines. `!` is
    # searched first, because a search for one character is much faster than one for two.
    if (b"!" in data and b"<!" in data) or b"\r" in data:
        return data, [], 0
    # Latin-1 maps each byte to one character, and what is taken out is ASCII in any case.
    text = data.decode("latin-1")
    parts = _Parts()
    rest = _without_layers(text, parts.found)
    count = len(parts.found)
    shorter, more = _PARTS.subn(parts, rest)
    count += more
    # The document must not use irloop's own names.
    if shorter.count(ATTRIBUTE) > count or "_dims_" in shorter:
        return data, [], 0
    return shorter.encode("latin-1"), parts.found, count


def _without_layers(text: str, parts: list[Part]) -> str:
    """Replace each run of plain layers by one element, and append the run to `parts`."""
    runs: list[Layers] = []
    end = -1
    for match in _LAYER.finditer(text):
        if match.start() != end:
            runs.append(Layers())
        runs[-1].matches.append(match)
        end = match.end()
    pieces = []
    done = 0
    for run in runs:
        start, end = run.matches[0].start(), run.matches[-1].end()
        pieces += [text[done:start], _replacement("layer", len(parts), text[start:end])]
        parts.append(run)
        done = end
    return "".join([*pieces, text[done:]])


def _replacement(tag: str, number: int, text: str) -> str:
    """The element that replaces part `number`, with as many line breaks as the text of the part."""
    lines = "\n" * text.count("\n")
    return f'<{tag} {ATTRIBUTE}="{number}">{lines}</{tag}>'


class _Parts(dict[str, str]):
    """Maps a piece of XML to a short element with a number, and collects the replaced pieces.

    `found` lists the pieces, as they were read, by number. Equal port sections get one number,
    which saves time, because they occur repeatedly in a model.
    """

    def __init__(self) -> None:
        self.found: list[Part] = []

    def __call__(self, match: re.Match[str]) -> str:
        return self[match.group()]

    def __missing__(self, text: str) -> str:
        tag = text[1 : text.index(">")]
        made = _replacement(tag, len(self.found), text)
        self.found.append(Edges(text) if tag == "edges" else _ports_of(text))
        if tag != "edges":
            self[text] = made
        return made


def _ports_in(text: str) -> tuple[Ports, int, int]:
    """Read the ports in a text that consists of ports and of white space around them.

    Returns the ports, the number of line breaks before the ports, and the number of line
    breaks in the whole text.
    """
    ports = text.strip()
    before = text.count("\n", 0, text.index(ports))
    return _ports_of(ports) if ports else Ports(None, None), before, text.count("\n")


def _ports_of(text: str) -> Ports:
    """The ports in the text of an `<input>`, an `<output>`, or both, cached for short texts."""
    # The ports of small layers are the same in many models, so they are read only once.
    return _ports(text) if len(text) > _SHORT else _known_ports(text)


def _ports(text: str) -> Ports:
    """Parse the ports in the text of an `<input>`, an `<output>`, or both."""
    has_inputs, has_outputs = text.startswith("<input>"), "<output>" in text
    inputs: list[PlainPort] = []
    outputs: list[PlainPort] = []
    current = inputs if has_inputs else outputs
    line = start = 0
    for match in _ITEM.finditer(text):
        line += text.count("\n", start, match.start())
        start = match.start()
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
