"""IRL104: malformed integer."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.formats.openvino import port_map_problems, problems
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import are_ids, unsigned
from irloop.formats.openvino.places import (
    at_edge,
    at_entry,
    at_layer,
    at_port,
)
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class MalformedInteger(
    Rule, code="IRL104", severity=Severity.ERROR, title="malformed integer", legacy=True
):
    """An id, an offset, an axis or another integer of the structure is malformed.

    What it does:
        Checks ids of layers and ports, ends of edges and back edges, `offset` and `size` of
        constants and every number of a port map: digits with an optional sign, nothing after them,
        no `0x`. Ids, offsets and sizes must not be negative.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file, often with no message other than "stoll".
    Bad example:
        <layer id="-6" name="sum" type="Add" version="opset1">
    Good example:
        <layer id="6" name="sum" type="Add" version="opset1">
    Fix:
        Write the number in decimal digits.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per malformed integer: an id, an offset, a size, or a port map number.

        Offsets and sizes are those of constants.
        """
        for index in context.nets:
            yield from self._net(index)
        for constant in context.constants:
            attributes = constant.attributes
            for name, number in (("offset", constant.offset), ("size", constant.size)):
                if number is None and name in attributes:
                    yield self._bad(constant.place(name), name, attributes[name])
        if context.is_legacy:
            return
        for wiring in (*context.loops, *(w for _, _, both in context.branches for w in both)):
            yield from self._wiring(wiring)

    def _net(self, index: NetIndex) -> Iterator[Diagnostic]:
        # First check all numbers of a net at once, because nearly always nothing is wrong.
        net = index.net
        ids_are_sound = _sound(index.ports.ids | index.layers.keys())
        if not ids_are_sound:
            for layer in net.layers:
                if layer.id is not None and unsigned(layer.id) is None:
                    yield self._bad(at_layer(layer), "id", layer.id)
                for port in (*layer.inputs, *layer.outputs):
                    if port.id is not None and unsigned(port.id) is None:
                        yield self._bad(at_port(layer, port), "id", port.id)
        ports = {edge.from_port for edge in net.edges} | {edge.to_port for edge in net.edges}
        ends = index.incoming.keys() | index.outgoing.keys()
        if ids_are_sound and _sound(ports | (ends - index.layers.keys())):
            return
        for edge in net.edges:
            texts = {
                "from-layer": edge.from_layer,
                "from-port": edge.from_port,
                "to-layer": edge.to_layer,
                "to-port": edge.to_port,
            }
            for name, text in texts.items():
                if text is not None and unsigned(text) is None:
                    yield self._bad(at_edge(index, edge), name, text)

    def _wiring(self, wiring: Wiring) -> Iterator[Diagnostic]:
        owner, section = wiring.owner, wiring.section
        if wiring.label != "else":
            for edge in owner.back_edges or ():
                found = port_map_problems.unreadable_back_edge(wiring, edge)
                yield from map(self.from_problem, found)
        if section is None:
            return
        for entry in (*wiring.inputs, *wiring.outputs):
            for name in entry.malformed:
                place = at_entry(owner, section, entry.entry)
                yield self._bad(place, name, entry.entry.attributes[name])

    def _bad(self, place: Location, name: str, text: str) -> Diagnostic:
        return self.from_problem(problems.malformed_integer(place, name, text))


def _sound(texts: set[str | None]) -> bool:
    return are_ids([text for text in texts if text is not None])
