"""Finds the lines of the port map entries and back edges of a loop or branch in an IR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from irloop.errors import IrloopError
from irloop.formats.openvino.document import Net
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.formats.openvino.xml import parse
from irloop.graph.model import Node

__all__ = ["WirePlace", "WirePlaces"]


class WirePlace(NamedTuple):
    """Where an IR file declares a wire: a port map entry and, for a state, its back edge.

    `port` is the external port of the entry, `line` its line in the file, and `purpose` its purpose
    attribute. `back_edges` is the number of back edges that lead to the Parameter of the entry, and
    `back_edge_line` is the line of the first of them, or None if there is none.
    """

    port: str
    line: int
    purpose: str = ""
    back_edge_line: int | None = None
    back_edges: int = 0


class WirePlaces:
    """Finds the port map entries, and their lines, in which an IR file declares wires.

    A wire connects a body of a loop or If with the outer graph. The nodes that are passed to the
    methods must have been read from this file.
    """

    def __init__(self, wirings: dict[tuple[int | None, str, str], Wiring]) -> None:
        self._wirings = wirings

    @classmethod
    def of(cls, file: str | None) -> WirePlaces:
        """Find the places of all wires in an IR by parsing `file` once more.

        The result is empty if `file` is None or cannot be parsed.
        """
        if file is None:
            return cls({})
        try:
            net = parse(file).net
        except (IrloopError, OSError):
            return cls({})
        wirings: dict[tuple[int | None, str, str], Wiring] = {}
        for wiring in _wirings(net, None):
            wirings[wiring.owner.line, wiring.owner.path, wiring.label] = wiring
        return cls(wirings)

    def input(self, node: Node, label: str, parameter: int) -> WirePlace | None:
        """Find the port map entry in the IR file that feeds a parameter of a body.

        `label` names the body of `node`, and `parameter` is the position of the parameter in that
        body. The result is None if the file has no such entry.
        """
        wiring = self._wiring(node, label)
        if wiring is None or wiring.body is None:
            return None
        layers = wiring.body.parameters
        inner = layers[parameter] if parameter < len(layers) else None
        entry = wiring.entry_of.get(inner.id or "") if inner is not None else None
        if entry is None or inner is None:
            return None
        back = wiring.back_edge_of.get(inner.id or "")
        edges = [edge for edge, _, layer in wiring.back_edges if layer is inner]
        return _place(entry, None if back is None else back[0].line, len(edges))

    def output(self, node: Node, label: str, external: int) -> WirePlace | None:
        """Find the port map entry in the IR file that produces an output of `node`.

        `external` is the number of the output, from 0. `label` names the body to which the port map
        belongs. The result is None if the file has no such entry.
        """
        wiring = self._wiring(node, label)
        entries = () if wiring is None else wiring.outputs
        entry = next((item for item in entries if item.position == external), None)
        return None if entry is None else _place(entry)

    def condition(self, node: Node, label: str) -> WirePlace | None:
        """Find the port map entry with purpose execution_condition; None if there is none."""
        wiring = self._wiring(node, label)
        entry = None if wiring is None else wiring.condition
        return None if entry is None else _place(entry)

    def _wiring(self, node: Node, label: str) -> Wiring | None:
        return self._wirings.get((node.location.line, node.location.path, label))


def _wirings(net: Net, parent: NetIndex | None) -> Iterator[Wiring]:
    index = NetIndex(net, parent)
    for layer in net.layers:
        for label, inner in layer.bodies.items():
            body = NetIndex(inner, index)
            yield Wiring(layer, label, index, body, layer.port_maps.get(label))
            yield from _wirings(inner, index)


def _place(entry: Entry, back_edge_line: int | None = None, back_edges: int = 0) -> WirePlace:
    port = entry.entry.attributes.get("external_port_id", "")
    return WirePlace(port, entry.entry.line, entry.purpose or "", back_edge_line, back_edges)
