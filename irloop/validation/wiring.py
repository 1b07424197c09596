"""How a body hangs on its owner, with every reference of the file resolved or None.

`Wiring` applies OpenVINO's own precedence (axis, then back edge, then external id) to entries
that may be broken; rules read it and report, it never fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from irloop.formats.openvino.net_index import LOOPS, NetIndex
from irloop.formats.openvino.numbers import signed, unsigned
from irloop.formats.openvino.xml import BackEdge, Layer, MapEntry, Port, PortMapSection

__all__ = ["Entry", "Wiring", "mapped_again", "positions"]


class Entry(NamedTuple):
    """An entry of a port map with its numbers read; None where absent or malformed.

    `position` is the place of the external port among the owner's ports (the index of an
    input, the index of an output), `inner` the Parameter or Result it names (or whatever
    layer has that id).
    """

    entry: MapEntry
    external: int | None
    position: int | None
    inner: Layer | None
    axis: int | None
    start: int
    end: int
    stride: int
    part_size: int

    @property
    def purpose(self) -> str | None:
        return self.entry.attributes.get("purpose")

    @property
    def has_axis(self) -> bool:
        """True when the entry slices or concatenates: the attribute is there at all."""
        return "axis" in self.entry.attributes

    @property
    def reverse(self) -> bool:
        return self.stride < 0


def positions(ports: list[Port]) -> dict[int, int]:
    """The position of each port by its id."""
    found: dict[int, int] = {}
    for index, port in enumerate(ports):
        number = unsigned(port.id)
        if number is not None:
            found.setdefault(number, index)
    return found


def mapped_again(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Entries of an external port that an earlier one names, each with the first of them."""
    seen: dict[int, Entry] = {}
    for entry in entries:
        if entry.external is None or entry.external < 0:
            continue
        first = seen.setdefault(entry.external, entry)
        if first is not entry:
            yield entry, first


class Wiring:
    """One port map of a TensorIterator, Loop or If, and the body it belongs to."""

    def __init__(
        self, owner: Layer, outer: NetIndex, body: NetIndex | None, section: PortMapSection | None
    ) -> None:
        self.owner = owner
        self.outer = outer
        self.body = body
        self.section = section
        self.is_loop_op = (owner.type or "").lower() in LOOPS
        self.is_loop = (owner.type or "").lower() == "loop"
        self.is_iterator = (owner.type or "").lower() == "tensoriterator"
        self.label = section.label if section is not None else "body"

    @cached_property
    def inputs(self) -> list[Entry]:
        """The input entries in document order."""
        if self.section is None:
            return []
        by_index = self._inputs_by_index
        places = positions(self.owner.inputs)
        count = len(self.owner.inputs)
        entries = []
        for entry in self.section.inputs:
            external = signed(entry.attributes.get("external_port_id"))
            place = external if by_index else places.get(-1 if external is None else external)
            if place is not None and not 0 <= place < count:
                place = None
            entries.append(self._entry(entry, external, place))
        return entries

    @cached_property
    def _inputs_by_index(self) -> bool:
        # OpenVINO takes the number as an index; only numbers that cannot be one are port ids.
        assert self.section is not None
        numbers = [signed(e.attributes.get("external_port_id")) for e in self.section.inputs]
        count = len(self.owner.inputs)
        outside = [number for number in numbers if number is not None and number >= count]
        ids = positions(self.owner.inputs)
        return not outside or not all(number in ids for number in outside)

    @cached_property
    def outputs(self) -> list[Entry]:
        """The output entries in document order."""
        if self.section is None:
            return []
        places = positions(self.owner.outputs)
        entries = []
        for entry in self.section.outputs:
            external = signed(entry.attributes.get("external_port_id"))
            place = None if external is None else places.get(external)
            if self._outputs_by_index and external is not None and external >= 0:
                place = external
            entries.append(self._entry(entry, external, place))
        return entries

    @cached_property
    def _outputs_by_index(self) -> bool:
        # Some writers number the outputs of an If from 0; ranked, they mean the same.
        if self.is_loop_op or self.section is None:
            return False
        numbers = [signed(e.attributes.get("external_port_id")) for e in self.section.outputs]
        known = {number for number in numbers if number is not None and number >= 0}
        return known == set(range(len(self.owner.outputs)))

    def _entry(self, entry: MapEntry, external: int | None, position: int | None) -> Entry:
        attributes = entry.attributes
        layers = {} if self.body is None else self.body.layers
        inner = layers.get(attributes.get("internal_layer_id", ""))

        def number(name: str, default: int) -> int:
            value = signed(attributes.get(name))
            return default if value is None else value

        return Entry(
            entry,
            external,
            position,
            inner,
            signed(attributes.get("axis")),
            number("start", 0),
            number("end", -1),
            number("stride", 1),
            number("part_size", 1),
        )

    @cached_property
    def back_edges(self) -> list[tuple[BackEdge, Layer | None, Layer | None]]:
        """Each back edge with the body layers it starts from and ends in."""
        layers = {} if self.body is None else self.body.layers
        return [
            (edge, layers.get(edge.from_layer or ""), layers.get(edge.to_layer or ""))
            for edge in self.owner.back_edges or ()
        ]

    def wrong_ends(self, kind: str) -> Iterator[tuple[BackEdge, str, Layer | None]]:
        """Back edges without a Result to start from (or a Parameter to end in, as `kind` says).

        Each with the layer id that it names there and that layer of the body, if there is one.
        """
        for edge, source, target in self.back_edges if self.body is not None else ():
            named, layer = edge.from_layer, source
            if kind == "Parameter":
                named, layer = edge.to_layer, target
            if named is not None and (layer is None or layer.type != kind):
                yield edge, named, layer

    @cached_property
    def back_edge_of(self) -> dict[str, tuple[BackEdge, Layer]]:
        """By Parameter id: the back edge that counts and the Result it starts from."""
        found: dict[str, tuple[BackEdge, Layer]] = {}
        for edge, source, target in self.back_edges:
            if source is None or target is None or target.id is None:
                continue
            if source.type == "Result" and target.type == "Parameter":
                found.setdefault(target.id, (edge, source))
        return found

    @cached_property
    def entry_of(self) -> dict[str, Entry]:
        """By Parameter id: the first input entry that names it."""
        found: dict[str, Entry] = {}
        for entry in self.inputs:
            if entry.inner is not None and entry.inner.id is not None:
                found.setdefault(entry.inner.id, entry)
        return found

    @property
    def sliced(self) -> list[Entry]:
        """Input entries with an axis."""
        return [entry for entry in self.inputs if entry.has_axis]

    @property
    def concatenated(self) -> list[Entry]:
        """Output entries with an axis."""
        return [entry for entry in self.outputs if entry.has_axis]

    @property
    def carried(self) -> list[tuple[Entry, Layer, BackEdge]]:
        """The states: entry (its `inner` is the Parameter), the Result that follows, the edge."""
        found = []
        for entry in self.inputs:
            inner = entry.inner
            if inner is None or inner.id is None or entry.has_axis:
                continue
            back = self.back_edge_of.get(inner.id)
            if back is not None and entry.position is not None:
                found.append((entry, back[1], back[0]))
        return found

    @cached_property
    def condition(self) -> Entry | None:
        """The first entry with purpose execution_condition that an earlier one does not hide."""
        seen: set[int | None] = set()
        for entry in self.outputs:
            if entry.external in seen:
                continue
            seen.add(entry.external)
            if entry.purpose == "execution_condition":
                return entry
        return None

    @cached_property
    def iteration(self) -> Entry | None:
        """The first entry with purpose current_iteration."""
        found = (item for item in self.inputs if item.purpose == "current_iteration")
        return next(found, None)
