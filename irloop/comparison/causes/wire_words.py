"""Compares the wires of two corresponding loops and describes differences, with ports and lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from irloop.comparison.causes.copies import unchanged
from irloop.comparison.causes.gathered import Gathered, gathered_slices
from irloop.comparison.causes.slice_ways import Way, turned_before, way_of
from irloop.dialects.loops import from_front
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.control_flow import If as OnnxIf
from irloop.dialects.openvino.control_flow import If as OpenVinoIf
from irloop.formats.openvino.wire_places import WirePlaces
from irloop.graph.builder import shape_of
from irloop.graph.loops import (
    Carried,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.record import Record

__all__ = ["Moved", "WireDifference", "WireSide", "Wires"]

#: Compares a value of the first model with one of the second.
Likeness = Callable[["Value | None", "Value | None"], bool]

#: A description of what feeds a body parameter: a wire, the iteration number, or nothing.
Feed = InputPort | Gathered | str
ITERATION, NOTHING = "iteration", "nothing"

_SLICES = (Sliced, ScanInput, Gathered)


class WireDifference(Record):
    """A wire that differs between two loops: its name, and its description in each model.

    `first` and `second` are phrases that follow the name, such as ``is carried from `h_next```.
    `lines` holds the line of the port map or back edge in each file that is an IR. `name` is the
    name in the second model; `other_name` is the name in the first model if that is a different
    one. `owner` is "loop" or "If".
    """

    name: str
    loop: str
    first: str
    second: str
    lines: tuple[int | None, int | None] = (None, None)
    other_name: str = ""
    owner: str = "loop"


class Moved(NamedTuple):
    """How an output of a loop is transposed and reversed after the loop.

    `order` is the permutation of its axes; `turned` is true if it is reversed.
    """

    order: Sequence[int] | None = None
    turned: bool = False


class WireSide(NamedTuple):
    """One of two compared loops or Ifs: its node, one of its bodies, and the lines of its wires.

    `places` finds the lines in the file from which the model was read.
    """

    node: Node
    body: Body
    places: WirePlaces
    gathered: Mapping[int, Gathered] = MappingProxyType({})

    @property
    def owner(self) -> str:
        """Return the word for the node that owns the body: "If" or "loop"."""
        return "If" if isinstance(self.node.op, OnnxIf | OpenVinoIf) else "loop"

    def feed(self, parameter: int) -> Feed:
        """Return the wire that feeds a body parameter.

        The result is the word ITERATION if the iteration number feeds the parameter, and NOTHING if
        nothing does.
        """
        if parameter == self.body.ports.iteration:
            return ITERATION
        if parameter in self.gathered:
            return self.gathered[parameter]
        return self.body.ports.by_parameter.get(parameter, NOTHING)

    def without_input(self) -> Iterator[int]:
        """The parameters that are read but have no input."""
        for at, value in enumerate(self.body.graph.inputs):
            if value.is_used and self.feed(at) == NOTHING:
                yield at

    def position(self, value: Value) -> int | None:
        """The position of the body parameter that `value` equals or is gathered from.

        None if there is no such parameter.
        """
        value = unchanged(value)
        if value in self.body.graph.inputs:
            return self.body.graph.inputs.index(value)
        return next((at for at, item in self.gathered.items() if item.value is value), None)

    def source(self, wire: InputPort | Gathered) -> Value | None:
        """The outer value of a wire."""
        inputs = self.node.inputs
        return inputs[wire.external] if wire.external < len(inputs) else None

    def sliced(
        self, wire: Sliced | ScanInput | Gathered, *, through: bool = True
    ) -> tuple[Way, Value | None]:
        """Return how a loop slices an input, and the outer value that it slices.

        With `through`, a Slice that only reverses the outer value is skipped: if the loop slices
        the whole reversed axis, the result is the operand of the Slice and the opposite direction.
        """
        source = self.source(wire)
        way = way_of(wire, source)
        before = None if source is None or not through else turned_before(source, way.axis)
        return (way, source) if before is None or not way.is_whole else (way.of_turned(), before)

    def result(self, number: int) -> Value | None:
        """Return the body value that is the operand of Result `number`."""
        return self.body.graph.results[number].inputs[0]

    def input_place(self, parameter: int) -> tuple[str, int | None]:
        """Describe where the wire into a body parameter is in the file, and return its line.

        The description has the form ``port 1, line 41``. If the place is not known, it is the
        number of the input, or "captured" for a captured value of an ONNX body, and the line is
        None.
        """
        found = self.places.input(self.node, self.body.label, parameter)
        if found is not None:
            return f"port {found.port}, line {found.line}", found.line
        wire = self.feed(parameter)
        if isinstance(wire, Invariant) and isinstance(self.node.op, OnnxOp):
            return "captured", None
        return ("" if isinstance(wire, str) else f"input {wire.external}"), None

    def back_edge(self, parameter: int, result: int) -> tuple[str, int | None]:
        """Describe the place where a back edge is declared; also return its line.

        The line is None if it is unknown.
        """
        found = self.places.input(self.node, self.body.label, parameter)
        if found is not None and found.back_edge_line is not None:
            words = (
                "back edge" if found.back_edges == 1 else f"first of {found.back_edges} back edges"
            )
            words += f" of port {found.port}, line {found.back_edge_line}"
            return words, found.back_edge_line
        return f"body output {result}", None

    def described(self, parameter: int) -> str:
        """Describe in words from where body parameter number `parameter` gets its value."""
        return Wires.fed(self, parameter, NOTHING)[0]

    def begun(self, parameter: int) -> tuple[str, int | None]:
        """Describe where a state starts or where an invariant comes from; also return the line.

        The line is that of the wire in the file; None if it is unknown.
        """
        wire = self.feed(parameter)
        assert not isinstance(wire, str)
        place, line = self.input_place(parameter)
        source = self.source(wire)
        name = "nothing" if source is None else f"`{source.name}`"
        verb = "starts from" if isinstance(wire, Carried) else "comes from"
        return f"{verb} {name}" + (f" ({place})" if place else ""), line

    def output_place(self, external: int) -> tuple[str, int | None]:
        """Describe where output `external` is in the file, and return its line.

        The description has the form ``port 1, line 41``. If the place is not known, it has only the
        number of the output, and the line is None.
        """
        found = self.places.output(self.node, self.body.label, external)
        if found is not None:
            return f"port {found.port}, line {found.line}", found.line
        return f"output {external}", None

    def condition_place(self) -> tuple[str, int | None]:
        """Describe the place where the condition is declared; return the text and the line.

        The line is None if it is unknown.
        """
        found = self.places.condition(self.node, self.body.label)
        if found is not None:
            return f"purpose execution_condition, line {found.line}", found.line
        return f"body output {self.body.ports.condition}", None


class Wires:
    """The wires of two loops.

    `same` tells whether two values may be the same, `corresponds` whether two values are known to
    correspond.
    """

    def __init__(
        self, first: WireSide, second: WireSide, same: Likeness, corresponds: Likeness | None = None
    ) -> None:
        self._sides = (first, second)
        self._same = same
        self._corresponds = corresponds or same
        self._loop = second.node.name

    @classmethod
    def between(
        cls,
        nodes: tuple[Node, Node],
        bodies: tuple[Body, Body],
        places: tuple[WirePlaces, WirePlaces],
        same: Likeness,
        corresponds: Likeness | None = None,
    ) -> Wires:
        """Make the `Wires` that compare the wires of two loops or branches.

        `bodies` has one body of each node; `places` locates the wires in the files. For nodes of
        different types, slices that a body takes by gathering count as wires, too.
        """
        left, right = (WireSide(*item) for item in zip(nodes, bodies, places, strict=True))
        if type(nodes[0].op) is not type(nodes[1].op):
            left, right = (
                side._replace(gathered=gathered_slices(side.node, side.body))
                for side in (left, right)
            )
        return cls(left, right, same, corresponds)

    def positions(self, first: Value, second: Value) -> tuple[int, int] | None:
        """Return the positions of two parameters: `first` in body 1, and `second` in body 2.

        Returns None if either value is not a body parameter.
        """
        left, right = self._sides[0].position(first), self._sides[1].position(second)
        return None if left is None or right is None else (left, right)

    def input(self, first: int, second: int, *, start: bool | None = None) -> WireDifference | None:
        """Return the difference between the inputs of two corresponding body parameters.

        Returns None if they do not differ. If the parameters are states, `start` selects what is
        compared: True the initial values, False the back edges, None both.
        """
        feeds = [side.feed(at) for side, at in zip(self._sides, (first, second), strict=True)]
        numbers = (first, second)
        if any(isinstance(item, str) for item in feeds) or _kind(feeds[0]) != _kind(feeds[1]):
            alike = _kind(feeds[0]) == _kind(feeds[1])
            return None if alike else self._differs(numbers, self.fed)
        left, right = feeds
        if isinstance(left, Carried) and isinstance(right, Carried):
            if start is not True and not self._continues_alike(left, right, numbers):
                return self._differs(numbers, self.fed)
            if start is False:
                return None
        if isinstance(left, _SLICES) and isinstance(right, _SLICES):
            # Look at an input before an operation reverses it only if the formats differ, because
            # models of one format have the same operations before the loop.
            formats = {isinstance(side.node.op, OnnxOp) for side in self._sides}
            (way, source), (other, other_source) = (
                side.sliced(port, through=len(formats) == 2)
                for side, port in zip(self._sides, (left, right), strict=True)
            )
            if not way.agrees(other):
                return self._differs(numbers, self.fed)
            if self._same(source, other_source):
                return None
        assert not isinstance(left, str)
        assert not isinstance(right, str)
        if self._same(self._sides[0].source(left), self._sides[1].source(right)):
            return None
        return self._differs(numbers, self._begun)

    def start(self, first: int, second: int) -> WireDifference:
        """Describe how two outer values differ that start corresponding body parameters.

        The caller knows already that the values differ.
        """
        return self._differs((first, second), self._begun)

    def _continues_alike(self, left: Carried, right: Carried, numbers: tuple[int, int]) -> bool:
        values = [
            None if (value := side.result(port.result)) is None else unchanged(value)
            for side, port in zip(self._sides, (left, right), strict=True)
        ]
        kept = [
            value is side.body.graph.input(at)
            for value, side, at in zip(values, self._sides, numbers, strict=True)
        ]
        if any(kept):
            return all(kept)
        return self._same(*(values[0], values[1]))

    def output(
        self,
        first: int,
        second: int,
        *,
        after: tuple[Moved, Moved] = (Moved(), Moved()),
    ) -> WireDifference | None:
        """The difference between two corresponding outputs of the loops; None if they do not
        differ.

        `after` tells how each output is transposed and reversed afterwards.
        """
        numbers = (first, second)
        ports = [
            next((port for port in side.body.ports.outputs if port.external == at), None)
            for side, at in zip(self._sides, numbers, strict=True)
        ]
        left, right = ports
        if left is None or right is None:
            return None
        sources = [
            side.result(port.result) for side, port in zip(self._sides, (left, right), strict=True)
        ]
        joined = [not isinstance(port, LastValue) for port in (left, right)]
        ways = [
            _out_way(side, port, moved)
            for side, port, moved in zip(self._sides, (left, right), after, strict=True)
        ]
        if joined[0] == joined[1] and ways[0] == ways[1] and self._same(sources[0], sources[1]):
            return None
        names = [side.node.outputs[at].name for side, at in zip(self._sides, numbers, strict=True)]
        phrases, lines = [], []
        for side, port, at, moved in zip(self._sides, (left, right), numbers, after, strict=True):
            place, line = side.output_place(at)
            phrases.append(f"{_out_words(side, port, moved)} ({place})")
            lines.append(line)
        other_name = "" if names[0] == names[1] else names[0]
        both = lines[0], lines[1]
        return WireDifference(names[1], self._loop, phrases[0], phrases[1], both, other_name)

    def joined(
        self, first: int, second: int, shapes: tuple[Sequence[int], Sequence[int]]
    ) -> WireDifference | None:
        """Describe two corresponding outputs by the shapes of the parts that they concatenate.

        `shapes` holds these shapes. The result is None if an output is not concatenated.
        """
        phrases, lines = [], []
        for side, external, shape in zip(self._sides, (first, second), shapes, strict=True):
            ports = side.body.ports.outputs
            port = next((port for port in ports if port.external == external), None)
            if port is None or isinstance(port, LastValue):
                return None
            place, line = side.output_place(external)
            words = _out_words(side, port, Moved())
            phrases.append(f"{words} (parts of shape {list(shape)}, {place})")
            lines.append(line)
        names = [
            side.node.outputs[at].name
            for side, at in zip(self._sides, (first, second), strict=True)
        ]
        other_name = "" if names[0] == names[1] else names[0]
        both = lines[0], lines[1]
        return WireDifference(names[1], self._loop, phrases[0], phrases[1], both, other_name)

    def state_of_output(self, first: int, second: int) -> WireDifference | None:
        """Compare the back edges of two states whose last values are the given outputs.

        None if they do not differ, if an output is not the last value of exactly one state, or if
        the two states do not correspond.
        """
        parameters = []
        for side, external in zip(self._sides, (first, second), strict=True):
            ports = side.body.ports
            last = [
                port.result
                for port in ports.outputs
                if isinstance(port, LastValue) and port.external == external
            ]
            states = [port.parameter for port in ports.carried if port.result in last]
            if len(states) != 1:
                return None
            parameters += states
        inputs = [
            side.body.graph.input(at) for side, at in zip(self._sides, parameters, strict=True)
        ]
        if not self._corresponds(*inputs):
            # The outputs are the last values of two different states.
            return None
        return self.input(parameters[0], parameters[1], start=False)

    def condition(self) -> WireDifference | None:
        """The difference between the conditions that end the loops; None if they do not differ."""
        values = [
            None if (at := side.body.ports.condition) is None else side.result(at)
            for side in self._sides
        ]
        if values[0] is values[1] or self._same(*(values[0], values[1])):
            return None
        phrases, lines = [], []
        for side, value in zip(self._sides, values, strict=True):
            place, line = (None, None) if value is None else side.condition_place()
            words = "is not there" if value is None else f"is `{value.name}` ({place})"
            phrases.append(words)
            lines.append(line)
        both = lines[0], lines[1]
        return WireDifference("condition", self._loop, phrases[0], phrases[1], both)

    def iteration(self) -> WireDifference | None:
        """The parameter that is the iteration number in only one of the loops, or None."""
        first, second = (side.body.ports.iteration for side in self._sides)
        if (first is None) == (second is None):
            return None
        side = self._sides[0] if second is None else self._sides[1]
        number = first if second is None else second
        assert number is not None
        parameter = side.body.graph.input(number)
        if not parameter.is_used:
            return None
        has, lacks = "receives the iteration number", "receives no iteration number"
        place, line = side.input_place(number)
        has += f" ({place})" if place else ""
        phrases = (has, lacks) if second is None else (lacks, has)
        lines = (line, None) if second is None else (None, line)
        return WireDifference(parameter.name, self._loop, *phrases, lines)

    def inputs(self) -> Iterator[tuple[int, int]]:
        """The positions of corresponding body parameters in both loops."""
        left, right = (
            [
                side.gathered[at].value if at in side.gathered else value
                for at, value in enumerate(side.body.graph.inputs)
            ]
            for side in self._sides
        )
        for at, value in enumerate(left):
            # Usually both bodies have their parameters in the same order, so the same position is
            # tried first.
            likely = [at] if at < len(right) else []
            places = (place for place in (*likely, *range(len(right))))
            found = next(
                (place for place in places if self._corresponds(value, right[place])), None
            )
            if found is not None:
                yield at, found

    def carried(self, pairs: Iterable[tuple[int, int]]) -> Iterator[WireDifference]:
        """The differences of back edges, for the states at these pairs of parameter positions."""
        for pair in pairs:
            kinds = {_kind(side.feed(at)) for side, at in zip(self._sides, pair, strict=True)}
            found = self.input(*pair, start=False) if kinds == {"state"} else None
            if found is not None:
                yield found

    def slices(self) -> Iterator[WireDifference]:
        """Yield the differences between sliced inputs.

        The number of slices of such an input determines how often a loop runs.
        """
        for pair in self.inputs():
            kinds = [_kind(side.feed(at)) for side, at in zip(self._sides, pair, strict=True)]
            found = self.input(*pair) if "slice" in kinds else None
            if found is not None:
                yield found

    def unfed(self) -> Iterator[WireDifference]:
        """Yield a difference for each parameter that has an input in only one of the two loops."""
        for pair in self.inputs():
            feeds = [side.feed(at) for side, at in zip(self._sides, pair, strict=True)]
            found = self.input(*pair) if NOTHING in feeds else None
            if found is not None:
                yield found
        # The iteration number of one loop may correspond to a parameter without an input in the
        # other loop.
        left, right = self._sides
        numbers = left.body.ports.iteration, right.body.ports.iteration
        if numbers[0] is not None and numbers[1] is None:
            yield from (self._differs((numbers[0], at), self.fed) for at in right.without_input())
        if numbers[1] is not None and numbers[0] is None:
            yield from (self._differs((at, numbers[1]), self.fed) for at in left.without_input())

    def all(self) -> Iterator[WireDifference]:
        """Yield the differences of all wires: of the parameters first, then of the outputs.

        The iteration number and the condition come last. There is at most one difference for each
        name.
        """
        found = [self.input(*pair) for pair in self.inputs()]
        counts = [len(side.node.outputs) for side in self._sides]
        found += [self.output(at, at) for at in range(min(counts))]
        found += [self.iteration(), self.condition()]
        told: set[str] = set()
        for item in found:
            if item is not None and item.name not in told:
                told.add(item.name)
                yield item

    def _differs(
        self,
        numbers: tuple[int, int],
        words: Callable[[WireSide, int, Feed], tuple[str, int | None]],
    ) -> WireDifference:
        names = [
            side.body.graph.input(at).producer.name
            for side, at in zip(self._sides, numbers, strict=True)
        ]
        first, second = self._sides
        left = words(first, numbers[0], second.feed(numbers[1]))
        right = words(second, numbers[1], first.feed(numbers[0]))
        other_name = "" if names[0] == names[1] else names[0]
        lines = left[1], right[1]
        return WireDifference(
            names[1], self._loop, left[0], right[0], lines, other_name, second.owner
        )

    @staticmethod
    def fed(side: WireSide, parameter: int, beside: Feed) -> tuple[str, int | None]:
        """Describe what feeds a body parameter, and find its line in the file (None if unknown).

        `beside` is what feeds the corresponding parameter of the other loop.
        """
        wire = side.feed(parameter)
        place, line = side.input_place(parameter)
        at = f" ({place})" if place else ""
        if isinstance(wire, str):
            words = {ITERATION: "is the iteration number", NOTHING: "is fed by nothing"}
            found = side.places.input(side.node, side.body.label, parameter)
            if found is not None:
                purpose = f"purpose {found.purpose}" if found.purpose else "no purpose"
                at = f" ({purpose}, line {found.line})"
            return words[wire] + at, line
        if isinstance(wire, Carried):
            value = side.result(wire.result)
            edge, edge_line = side.back_edge(parameter, wire.result)
            if value is not None and unchanged(value) is side.body.graph.input(parameter):
                return f"is not carried: its back edge returns it unchanged ({edge})", edge_line
            name = "nothing" if value is None else f"`{value.name}`"
            return f"is carried from {name} ({edge})", edge_line
        if isinstance(wire, Invariant):
            if isinstance(beside, Carried):
                port, _, rest = place.partition(", ")
                return f"is not carried: {port} has no back edge" + (rest and f", {rest}"), line
            return f"is the same in every iteration{at}", line
        return f"is sliced {side.sliced(wire)[0]}{at}", line

    @staticmethod
    def _begun(side: WireSide, parameter: int, _beside: Feed) -> tuple[str, int | None]:
        return side.begun(parameter)


def _kind(feed: Feed) -> str:
    if isinstance(feed, str):
        return feed
    if isinstance(feed, _SLICES):
        return "slice"
    return "state" if isinstance(feed, Carried) else "invariant"


def _out_way(side: WireSide, port: OutputPort, moved: Moved) -> tuple[int, ...]:
    """Return the axis along which an output is concatenated, and its direction, 1 or -1.

    Both take into account how the output is `moved` behind the loop. The result is empty for an
    output that is a last value.
    """
    value = side.result(port.result)
    port = from_front(port, None if value is None else shape_of(value).rank)
    if isinstance(port, LastValue):
        return ()
    backwards = port.reverse if isinstance(port, ScanOutput) else port.stride < 0
    axis = port.axis
    if moved.order is not None and axis in moved.order:
        axis = list(moved.order).index(axis)
    return axis, -1 if backwards != moved.turned else 1


def _out_words(side: WireSide, port: OutputPort, moved: Moved) -> str:
    value = side.result(port.result)
    name = "nothing" if value is None else f"`{value.name}`"
    if isinstance(port, LastValue):
        return f"is {name}" if side.owner == "If" else f"is the last {name}"
    axis, step = _out_way(side, port, moved._replace(turned=False))
    verb = "stacks" if isinstance(port, ScanOutput) else "joins"
    words = f"{verb} {name} along axis {axis}, " + ("backwards" if step < 0 else "forwards")
    return words + (", and is reversed afterwards" if moved.turned else "")
