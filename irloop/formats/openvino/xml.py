"""The .xml file as it stands: layers, ports, edges and port maps, text untouched, lines exact.

`parse` refuses what is dangerous (entities, a DTD, too much nesting) and what is no XML; it
does not judge the content. Validation rules and the reader both start from a `Document`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lxml import etree

__all__ = ["BackEdge", "Document", "Edge", "Layer", "MapEntry", "Net", "Port", "PortMapSection"]


@dataclass(slots=True)
class Port:
    """A declared `<port>`; `dims` are the texts of its `<dim>` children."""

    id: str | None
    precision: str | None
    names: str | None
    dims: tuple[str, ...]
    line: int
    element: etree._Element


@dataclass(slots=True)
class MapEntry:
    """An `<input>` or `<output>` of a port map: its attributes as text."""

    kind: str
    attributes: Mapping[str, str]
    line: int
    element: etree._Element


@dataclass(slots=True)
class BackEdge:
    """An `<edge>` of `<back_edges>`."""

    from_layer: str | None
    to_layer: str | None
    line: int
    element: etree._Element


@dataclass(slots=True)
class PortMapSection:
    """A port map: `label` is body, then or else; entries in document order."""

    label: str
    inputs: list[MapEntry]
    outputs: list[MapEntry]
    line: int
    element: etree._Element


@dataclass(slots=True)
class Layer:
    """A `<layer>`; attributes are None when absent. `path` walks through bodies by name."""

    id: str | None
    name: str | None
    type: str | None
    version: str | None
    line: int
    element: etree._Element
    net: Net
    data: Mapping[str, str]
    data_element: etree._Element | None
    inputs: list[Port]
    outputs: list[Port]
    #: By label: body, then, else.
    bodies: dict[str, Net] = field(default_factory=dict)
    port_maps: dict[str, PortMapSection] = field(default_factory=dict)
    #: None when the section is absent.
    back_edges: list[BackEdge] | None = None

    @property
    def path(self) -> str:
        """The way here through bodies, as in ``Loop_7/body/Mul_4``."""
        own = self.name or f"layer {self.id}"
        return f"{self.net.path}/{own}" if self.net.path else own

    @property
    def element_path(self) -> str:
        """The path of the XML element, as in ``net/layers/layer[@id=4]``."""
        return f"{self.net.element_path}/layers/layer[@id={self.id}]"


@dataclass(slots=True)
class Edge:
    """An `<edge>` of `<edges>`."""

    from_layer: str | None
    from_port: str | None
    to_layer: str | None
    to_port: str | None
    line: int
    element: etree._Element


@dataclass(slots=True)
class Net:
    """The root or a body: layers and edges in document order."""

    element: etree._Element
    line: int
    #: The path of the owning layer and the label, empty at the root.
    path: str
    element_path: str
    owner: Layer | None
    layers: list[Layer]
    edges: list[Edge]


@dataclass(slots=True)
class Document:
    """A parsed .xml file."""

    file: str
    root: etree._Element
    net: Net
    version: str | None
    name: str | None
