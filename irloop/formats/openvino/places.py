"""Locations of findings: line, layer path, layer id and element path of parts of the XML.

The layer path leads from the root through bodies to the layer, by names; the element path leads
through the elements of the XML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irloop.diagnostics import Location
from irloop.formats.openvino.document import (
    BackEdge,
    Document,
    Edge,
    Extra,
    Layer,
    MapEntry,
    Net,
    Port,
    PortMapSection,
)

if TYPE_CHECKING:
    from lxml import etree

    from irloop.formats.openvino.net_index import NetIndex

__all__ = [
    "ElementPlaces",
    "at_back_edge",
    "at_bytes",
    "at_data",
    "at_edge",
    "at_entry",
    "at_layer",
    "at_net",
    "at_port",
    "at_section",
    "describe",
    "describe_bytes",
    "section_tag",
]


def describe(layer: Layer) -> str:
    """Describe a layer for a message, for example ``Add 'sum' (layer 4)``."""
    return f"{layer.type} {layer.path!r} (layer {layer.id})"


def section_tag(section: PortMapSection) -> str:
    """The element name of a port map: port_map, then_port_map or else_port_map."""
    return "port_map" if section.label == "body" else f"{section.label}_port_map"


def at_net(net: Net) -> Location:
    """The location of the root or a body."""
    owner = net.owner
    return Location(None, net.line, net.path, owner.id if owner else None, net.element_path)


def at_layer(layer: Layer, part: str = "") -> Location:
    """The location of a layer, or of a part without its own line, such as ``back_edges``."""
    element = f"{layer.element_path}/{part}" if part else layer.element_path
    return Location(None, layer.line, layer.path, layer.id, element)


def at_data(layer: Layer, attribute: str = "") -> Location:
    """The location of the data element of a layer or, with `attribute`, of that attribute.

    If the layer has no data element, the result is the location of the layer itself.
    """
    if layer.data_line is None:
        return at_layer(layer)
    element = f"{layer.element_path}/data"
    if attribute:
        element = f"{element}/@{attribute}"
    return Location(None, layer.data_line, layer.path, layer.id, element)


def describe_bytes(layer: Layer, blob: Extra | None) -> str:
    """Describe a constant: the layer, or the element of an old layer that names the bytes."""
    return describe(layer) if blob is None else f"{blob.tag} of {describe(layer)}"


def at_bytes(layer: Layer, blob: Extra | None, attribute: str = "") -> Location:
    """The location of the element that names the bytes of a constant: `data`, or a blob."""
    if blob is None:
        return at_data(layer, attribute)
    element = f"{layer.element_path}/blobs/{blob.tag}"
    if attribute:
        element = f"{element}/@{attribute}"
    return Location(None, blob.line, layer.path, layer.id, element)


def at_port(layer: Layer, port: Port) -> Location:
    """The location of a declared port of a layer."""
    side = "input" if any(item is port for item in layer.inputs) else "output"
    element = f"{layer.element_path}/{side}/port[@id={port.id}]"
    return Location(None, layer.line + port.below, layer.path, layer.id, element)


def at_section(layer: Layer, section: PortMapSection) -> Location:
    """The location of a port map of a layer."""
    element = f"{layer.element_path}/{section_tag(section)}"
    return Location(None, section.line, layer.path, layer.id, element)


def at_entry(layer: Layer, section: PortMapSection, entry: MapEntry) -> Location:
    """The location of a port map entry, as in ``net/layers/layer[@id=4]/port_map/output[2]``."""
    element = f"{layer.element_path}/{section_tag(section)}/{entry.kind}[{entry.number}]"
    return Location(None, entry.line, layer.path, layer.id, element)


def at_back_edge(layer: Layer, edge: BackEdge) -> Location:
    """The location of a back edge of a layer."""
    element = f"{layer.element_path}/back_edges/edge[{edge.number}]"
    return Location(None, edge.line, layer.path, layer.id, element)


def at_edge(index: NetIndex, edge: Edge) -> Location:
    """The location of an edge of a net."""
    net = index.net
    element = f"{net.element_path}/edges/edge[{index.edge_numbers[id(edge)]}]"
    return Location(None, edge.line, net.path, None, element)


class ElementPlaces:
    """The locations of XML elements, whether the document has records for them or not.

    Each element and each list of siblings is looked at once, because a file may have thousands of
    wrong elements in one parent, and thousands of wrong attributes in one element.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._places: dict[etree._Element, Location] = {}
        #: For each element on the way to a place: its step, and id and name if it is a layer.
        self._steps: dict[etree._Element, tuple[str, str | None, str]] = {}
        #: Positions among the siblings with the same tag, for the children of known parents.
        self._positions: dict[etree._Element, str] = {}
        self._parents: set[etree._Element] = set()

    def at(self, element: etree._Element) -> Location:
        """The location of an element of the document."""
        if element not in self._places:
            self._places[element] = self._place(element)
        return self._places[element]

    def _place(self, element: etree._Element) -> Location:
        steps: list[str] = []
        names: list[str] = []
        layer_id: str | None = None
        node: etree._Element | None = element
        while node is not None:
            if node not in self._steps:
                self._steps[node] = self._step(node)
            step, identity, name = self._steps[node]
            steps.append(step)
            if node.tag == "layer":
                layer_id = layer_id if names else identity
                names.append(name)
            elif names and str(node.tag).endswith("body"):
                names.append(str(node.tag).removesuffix("_body"))
            node = node.getparent()
        line = self._document.line_of(element)
        return Location(None, line, "/".join(reversed(names)), layer_id, "/".join(reversed(steps)))

    def _step(self, node: etree._Element) -> tuple[str, str | None, str]:
        tag, identity = str(node.tag), node.get("id")
        name = (node.get("name") or f"layer {identity}") if tag == "layer" else ""
        if tag in ("layer", "port") and identity is not None:
            return f"{tag}[@id={identity}]", identity, name
        return f"{tag}{self._position(node)}", identity, name

    def _position(self, node: etree._Element) -> str:
        """The position among the siblings of the same tag, such as ``[2]``; "" for an only one."""
        parent = node.getparent()
        if parent is None:
            return ""
        if parent not in self._parents:
            self._parents.add(parent)
            same: dict[str, list[etree._Element]] = {}
            for child in parent:
                same.setdefault(str(child.tag), []).append(child)
            for children in same.values():
                numbers = range(1, len(children) + 1) if len(children) > 1 else ("",)
                marks = (f"[{number}]" if number else "" for number in numbers)
                self._positions.update(zip(children, marks, strict=True))
        return self._positions[node]
