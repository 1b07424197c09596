"""Records of the elements of an .xml file, with attributes kept as strings.

`xml.parse` creates them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from xml.parsers import expat

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.openvino.numbers import unsigned

if TYPE_CHECKING:
    from lxml import etree

__all__ = [
    "LEGACY_VERSIONS",
    "BackEdge",
    "Document",
    "Edge",
    "Extra",
    "Layer",
    "MapEntry",
    "Net",
    "Port",
    "PortMapSection",
    "is_legacy",
]

#: The versions before 10 that OpenVINO has written, from 2018 to 2020.
LEGACY_VERSIONS = range(2, 8)


def is_legacy(version: str | None) -> bool:
    """Return whether `version` is the `version` of an IR of versions 2 to 7."""
    return unsigned(version) in LEGACY_VERSIONS


# Records are compared by identity, because generated comparison methods would take time at every
# start.


@dataclass(slots=True, eq=False, repr=False)
class Extra:
    """An element that is kept unchanged, such as `rt_info` or `meta_data`."""

    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[Extra] = field(default_factory=list)
    #: The text directly inside, without surrounding white space.
    text: str = ""


@dataclass(slots=True, eq=False, repr=False)
class Port:
    """A declared `<port>`; `dims` holds the text of each `<dim>` child.

    The ids in all records of this module are canonical: `+07` is stored as `7`. Layers with equal
    ports may share their `Port` records, so a record cannot hold the line number of the port in the
    file. Instead, `below` is the number of lines from the first line of the layer to the port.
    """

    id: str | None
    precision: str | None
    names: str | None
    dims: tuple[str, ...]
    below: int
    rt_info: Extra | None = None


@dataclass(slots=True, eq=False, repr=False)
class MapEntry:
    """An `<input>` or `<output>` of a port map, with its attributes as text.

    `number` is its position among the entries of its kind, from 1.
    """

    kind: str
    attributes: Mapping[str, str]
    line: int
    number: int


@dataclass(slots=True, eq=False, repr=False)
class BackEdge:
    """An `<edge>` of `<back_edges>`; `number` is its position among the edges, from 1."""

    from_layer: str | None
    to_layer: str | None
    line: int
    number: int
    #: The ports of the two layers, which only versions 2 to 7 need.
    from_port: str | None = None
    to_port: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class PortMapSection:
    """A port map, with its entries in document order; `label` is "body", "then" or "else"."""

    label: str
    inputs: list[MapEntry]
    outputs: list[MapEntry]
    line: int


@dataclass(slots=True, eq=False, repr=False)
class Layer:
    """A `<layer>`; missing attributes are None."""

    id: str | None
    name: str | None
    type: str | None
    version: str | None
    line: int
    net: Net
    #: All attributes of the element, including the four above.
    attributes: Mapping[str, str]
    #: Attributes of `<data>`; `data_line` is None when there is no such element.
    data: Mapping[str, str]
    data_line: int | None
    #: The ports are not changed after parsing, because equal layers share these lists.
    inputs: list[Port]
    outputs: list[Port]
    #: The bodies, keyed by label: "body", "then" or "else".
    bodies: Mapping[str, Net]
    port_maps: Mapping[str, PortMapSection]
    #: None when the section is absent.
    back_edges: list[BackEdge] | None = None
    rt_info: Extra | None = None
    #: The elements that name bytes of the .bin, by their tag ("weights"); in versions 2 to 7 only.
    blobs: Mapping[str, Extra] = field(default_factory=dict)
    #: The input ports of a Loop as the file lists them, if `inputs` has them in another order.
    listed: list[Port] | None = None

    def order_inputs(self) -> None:
        """Order the inputs of a Loop by their ids if their places in the file have no meaning.

        OpenVINO takes the places, and refuses the file if the first port is no trip count or the
        second no condition. Then only the ids, which edges and port map use, can be meant.
        """
        ids = {port: unsigned(port.id) for port in self.inputs}
        if len(ids) < 2 or None in ids.values() or len({*ids.values()}) < len(ids):
            return
        ordered = sorted(self.inputs, key=lambda port: ids[port] or 0)
        if not _can_control(self.inputs) and _can_control(ordered):
            self.listed, self.inputs = self.inputs, ordered

    @property
    def path(self) -> str:
        """The path of the layer through all enclosing bodies, as in ``Loop_7/body/Mul_4``."""
        own = self.name or f"layer {self.id}"
        return f"{self.net.path}/{own}" if self.net.path else own

    @property
    def element_path(self) -> str:
        """The path of the XML element, as in ``net/layers/layer[@id=4]``."""
        return f"{self.net.element_path}/layers/layer[@id={self.id}]"


def _can_control(ports: list[Port]) -> bool:
    """Return whether the first two inputs of a Loop can be a trip count and a condition."""
    first, second = ((port.precision or "").upper() for port in ports[:2])
    return first in ("I32", "I64") and second in ("BOOL", "BOOLEAN")


@dataclass(slots=True, eq=False, repr=False)
class Edge:
    """An `<edge>` of `<edges>`."""

    from_layer: str | None
    from_port: str | None
    to_layer: str | None
    to_port: str | None
    line: int


@dataclass(slots=True, eq=False, repr=False)
class Net:
    """The root or a body: layers and edges in document order."""

    line: int
    #: The path of the owning layer and the label, empty at the root.
    path: str
    element_path: str
    owner: Layer | None
    layers: list[Layer] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    #: `rt_info`, `meta_data`, `statistics`, `quantization_parameters`, `pre-process`.
    sections: list[Extra] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Document:
    """A parsed .xml file."""

    file: str
    net: Net
    version: str | None
    name: str | None
    data: bytes = field(repr=False)
    #: All distinct lists of dimensions of ports.
    all_dims: Collection[tuple[str, ...]] = field(repr=False, default=())
    #: The precision of the net, which only version 7 has.
    precision: str | None = None
    #: True if the schema allows every element and attribute; False also if that is not known.
    conforms: bool = False

    @property
    def is_legacy(self) -> bool:
        """Return whether this is an IR of versions 2 to 7, which `legacy` reads."""
        return is_legacy(self.version)

    def clear(self) -> None:
        """Drop all records, so that their memory is freed at once.

        The records form reference cycles, which would otherwise exist until the garbage
        collector runs.
        """
        nets = [self.net]
        while nets:
            net = nets.pop()
            for layer in net.layers:
                if layer.bodies:
                    nets.extend(layer.bodies.values())
                    layer.bodies = {}
            net.layers.clear()
            net.edges.clear()
        self.__dict__.pop("root", None)
        self.__dict__.pop("_lines", None)

    @cached_property
    def root(self) -> etree._Element:
        """The file as an lxml tree; entities are not resolved and nothing is loaded.

        In a long file `sourceline` of its elements is not exact; `line_of` is.

        Raises:
            ReadError: when libxml2 refuses a file that expat accepts.
        """
        from lxml import etree

        # huge_tree lifts libxml2's limits, because depth and size were already checked against
        # irloop's limits.
        parser = etree.XMLParser(
            resolve_entities=False, load_dtd=False, no_network=True, huge_tree=True
        )
        try:
            return etree.fromstring(self.data, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            what, _, place = str(error).partition(", line ")
            line = re.match(r"\d+", place)
            raise ReadError(
                f"the XML is not well-formed: {what}",
                location=Location(self.file, int(line.group()) if line else None),
                code="IRL101",
                fix="save it as UTF-8" if "encoding" in what else "",
            ) from error

    def line_of(self, element: etree._Element) -> int:
        """The exact line of an element of `root`."""
        return self._lines[element]

    @cached_property
    def _lines(self) -> dict[etree._Element, int]:
        lines: list[int] = []
        parser = expat.ParserCreate()
        parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
        parser.Parse(self.data, True)
        return dict(zip(self.root.iter("*"), lines, strict=True))
