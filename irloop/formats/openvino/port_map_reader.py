"""Reads port maps and back edges, which connect a body with its owner, as OpenVINO does.

In the files of all known writers, an `external_port_id` is the id of a port of the owner. OpenVINO
interprets the number differently: for an input, as an index; for an output, as a number that
determines the order of the outputs. In these files, both interpretations lead to the same port. In
other files

- the numbers of inputs are indices. They are port ids only if some of them are too large
  for an index, and all of those are ids of ports;
- the numbers of outputs are port ids if all of them are ids and the ids ascend. Otherwise the
  lowest number is output 0, the next number output 1, and so on.

An input with an axis is sliced, even if a back edge leads to its Parameter. Any other input is a
state if a back edge leads to its Parameter; if several do, the first of them counts.

`Wiring` never fails: absent or malformed items are None. `port_map_record` turns it into records
and raises the first problem; validation rules report all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from irloop.formats.openvino.document import BackEdge, Layer, MapEntry, Port, PortMapSection
from irloop.formats.openvino.net_index import LOOPS, NetIndex
from irloop.formats.openvino.numbers import signed, unsigned

__all__ = ["NUMBERS", "Entry", "Wiring", "mapped_again", "positions"]

#: The numbers that a port map entry may have, besides the id of a layer.
NUMBERS = ("external_port_id", "axis", "start", "end", "stride", "part_size")


class Entry(NamedTuple):
    """An entry of a port map with its numbers parsed.

    A number that is absent or malformed in the file has its default, which is None for `external`
    and `axis`. `malformed` lists the attributes that are not numbers. `position` is the position of
    the external port among the inputs or outputs of the owner; `inner` is the body layer that the
    entry names, a Parameter or Result in a valid file.
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
    malformed: tuple[str, ...]

    @property
    def purpose(self) -> str | None:
        return self.entry.attributes.get("purpose")

    @property
    def has_axis(self) -> bool:
        """Return whether the entry has an axis, and therefore slices or concatenates."""
        return "axis" in self.entry.attributes

    @property
    def reverse(self) -> bool:
        return self.stride < 0


def positions(ports: list[Port]) -> dict[int, int]:
    """The position of each port, keyed by its id."""
    by_id: dict[int, int] = {}
    for index, port in enumerate(ports):
        number = unsigned(port.id)
        if number is not None:
            by_id.setdefault(number, index)
    return by_id


def mapped_again(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield (entry, first) for each entry that names the same external port as an earlier entry.

    `first` is the first entry that names this port.
    """
    seen: dict[int, Entry] = {}
    for entry in entries:
        if entry.external is None or entry.external < 0:
            continue
        first = seen.setdefault(entry.external, entry)
        if first is not entry:
            yield entry, first


class Wiring:
    """One port map of a TensorIterator, Loop or If, and its body."""

    def __init__(
        self,
        owner: Layer,
        label: str,
        outer: NetIndex,
        body: NetIndex | None,
        section: PortMapSection | None,
    ) -> None:
        self.owner = owner
        #: "body", "then" or "else".
        self.label = label
        self.outer = outer
        self.body = body
        self.section = section
        kind = (owner.type or "").lower()
        self.is_loop_op = kind in LOOPS
        self.is_loop = kind == "loop"
        self.is_iterator = kind == "tensoriterator"
        #: A branch has neither slices, nor concatenation, nor back edges.
        self.slices = kind != "if"

    @cached_property
    def inputs(self) -> list[Entry]:
        """The input entries in document order."""
        if self.section is None:
            return []
        by_index = self.inputs_by_index
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
    def inputs_by_index(self) -> bool:
        """Return whether the numbers of the input entries are indices, and not ids of ports."""
        # OpenVINO uses the numbers as indices. It takes them for port ids only if some are too
        # large for an index.
        if self.section is None:
            return True
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
        numbers = [signed(e.attributes.get("external_port_id")) for e in self.section.outputs]
        places = self._output_places({n for n in numbers if n is not None and n >= 0})
        return [
            self._entry(entry, number, None if number is None else places.get(number))
            for entry, number in zip(self.section.outputs, numbers, strict=True)
        ]

    def _output_places(self, numbers: set[int]) -> dict[int, int]:
        """Map each external id in `numbers` to the position of an output of the node.

        If the ids of the node's output ports ascend and include all `numbers`, an id belongs to the
        port with this id. Otherwise, the lowest id belongs to the first output, the next id to the
        second, and so on.
        """
        places = positions(self.owner.outputs)
        if list(places) == sorted(places) and numbers <= places.keys():
            return places
        return {number: rank for rank, number in enumerate(sorted(numbers))}

    def names_output(self, entry: Entry) -> bool:
        """Return whether the entry names an output port of its owner, usually by the port's id.

        Some writers identify the outputs of an If by numbers from 0 instead of ids. If the output
        entries of an If together use the number of every output, and no other number, then each
        entry names an output.
        """
        if entry.external in positions(self.owner.outputs):
            return True
        if self.is_loop_op:
            return False
        numbers = {item.external for item in self.outputs if (item.external or 0) >= 0}
        return numbers == set(range(len(self.owner.outputs)))

    def _entry(self, entry: MapEntry, external: int | None, position: int | None) -> Entry:
        attributes = entry.attributes
        layers = {} if self.body is None else self.body.layers
        inner = layers.get(attributes.get("internal_layer_id", ""))
        malformed = []
        # A branch has no slices, so only the ids in its entries are read.
        names = NUMBERS if self.slices else NUMBERS[:1]
        for name, text in attributes.items():
            if name == "internal_layer_id":
                if unsigned(text) is None:
                    malformed.append(name)
            elif name in names and signed(text) is None:
                malformed.append(name)

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
            tuple(malformed),
        )

    @cached_property
    def back_edges(self) -> list[tuple[BackEdge, Layer | None, Layer | None]]:
        """Each back edge, with the two body layers that it connects."""
        layers = {} if self.body is None else self.body.layers
        return [
            (edge, layers.get(edge.from_layer or ""), layers.get(edge.to_layer or ""))
            for edge in self.owner.back_edges or ()
        ]

    def wrong_ends(self, kind: str) -> Iterator[tuple[BackEdge, str, Layer | None]]:
        """Yield the back edges that do not start from a Result, or do not end in a Parameter.

        If `kind` is "Result", the start of each back edge is checked; if `kind` is "Parameter",
        the end. A wrong back edge is yielded with the layer id at its wrong end and the layer
        that has this id, or None if the body has no such layer.
        """
        for edge, source, target in self.back_edges if self.body is not None else ():
            named, layer = edge.from_layer, source
            if kind == "Parameter":
                named, layer = edge.to_layer, target
            if named is not None and (layer is None or layer.type != kind):
                yield edge, named, layer

    @cached_property
    def back_edge_of(self) -> dict[str, tuple[BackEdge, Layer]]:
        """For each Parameter id, the first back edge to the Parameter, and that edge's Result."""
        first: dict[str, tuple[BackEdge, Layer]] = {}
        for edge, source, target in self.back_edges:
            if source is None or target is None or target.id is None:
                continue
            if source.type == "Result" and target.type == "Parameter":
                first.setdefault(target.id, (edge, source))
        return first

    @cached_property
    def entry_of(self) -> dict[str, Entry]:
        """The first input entry of each Parameter, keyed by the id of the Parameter."""
        first: dict[str, Entry] = {}
        for entry in self.inputs:
            if entry.inner is not None and entry.inner.id is not None:
                first.setdefault(entry.inner.id, entry)
        return first

    @property
    def sliced(self) -> list[Entry]:
        """The input entries that have an axis, and so slice their input."""
        return [entry for entry in self.inputs if entry.has_axis]

    @property
    def concatenated(self) -> list[Entry]:
        """Output entries with an axis."""
        return [entry for entry in self.outputs if entry.has_axis]

    @property
    def carried(self) -> list[tuple[Entry, Layer, BackEdge]]:
        """The states, each as (entry, Result, back edge).

        The entry has the state's Parameter as `inner`; the Result returns the next value.
        """
        states = []
        for entry in self.inputs:
            inner = entry.inner
            if inner is None or inner.id is None or entry.has_axis:
                continue
            back = self.back_edge_of.get(inner.id)
            if back is not None and entry.position is not None:
                states.append((entry, back[1], back[0]))
        return states

    @cached_property
    def condition(self) -> Entry | None:
        """The output entry whose purpose is execution_condition, or None.

        An entry is ignored if an earlier entry has the same external_port_id. If several of the
        other entries have this purpose, the first of them is returned.
        """
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
