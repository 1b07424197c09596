"""Locations of findings: line, layer path, layer id and element path of parts of the XML.

The layer path leads from the root through bodies to the layer, by names; the element path leads
through the elements of the XML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irloop.diagnostics import Location
from irloop.formats.openvino.document import (
    BackEdge,
    Edge,
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
    "at_back_edge",
    "at_data",
    "at_edge",
    "at_element",
    "at_entry",
    "at_layer",
    "at_net",
    "at_port",
    "at_section",
    "describe",
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


def at_element(element: etree._Element, line: int) -> Location:
    """The location of any XML element, whether the document has a record for it or not."""
    steps: list[str] = []
    names: list[str] = []
    layer_id: str | None = None
    node: etree._Element | None = element
    while node is not None:
        tag = str(node.tag)
        steps.append(_step(node, tag))
        if tag == "layer":
            layer_id = layer_id if names else node.get("id")
            names.append(node.get("name") or f"layer {node.get('id')}")
        elif names and tag.endswith("body"):
            names.append(tag.removesuffix("_body"))
        node = node.getparent()
    path = "/".join(reversed(names))
    return Location(None, line, path, layer_id, "/".join(reversed(steps)))


def _step(node: etree._Element, tag: str) -> str:
    identity = node.get("id")
    if tag in ("layer", "port") and identity is not None:
        return f"{tag}[@id={identity}]"
    parent = node.getparent()
    same = [] if parent is None else parent.findall(tag)
    if len(same) < 2:
        return tag
    # Compare by identity, because two equal entries have different positions.
    position = next(index for index, other in enumerate(same, 1) if other is node)
    return f"{tag}[{position}]"
