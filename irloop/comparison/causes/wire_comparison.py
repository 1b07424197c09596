"""Compares the wires (ports and back edges) of two corresponding loops or Ifs.

A wire connects a value outside the loop or If with a body parameter, or a result of the body with
an output; a back edge connects a result with the parameter of a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from irloop.comparison.causes.copies import unchanged
from irloop.comparison.causes.gathered import gathered_slices
from irloop.comparison.causes.wire_side import (
    NOTHING,
    SLICES,
    Feed,
    Moved,
    WireSide,
    kind_of,
    out_way,
    out_words,
)
from irloop.dialects.onnx.base import OnnxOp
from irloop.formats.openvino.wire_places import WirePlaces
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried, LastValue
from irloop.graph.model import Body, Node, Value
from irloop.graph.record import Record

__all__ = ["WireDifference", "Wires"]

#: Compares a value of the first model with one of the second.
Likeness = Callable[["Value | None", "Value | None"], bool]


class WireDifference(Record):
    """A wire that differs between two loops: its name, and its description in each model.

    `first` and `second` are phrases that follow the name, such as ``is carried from `h_next```.
    `lines` holds the line of the port map or back edge in each file that is an IR. `name` is the
    name in the second model; `other_name` is the name in the first model if that is a different
    one. `loop` is the name of the node in the second model, and `owner` is "loop" or "If".
    """

    name: str
    loop: str
    first: str
    second: str
    lines: tuple[int | None, int | None] = (None, None)
    other_name: str = ""
    owner: str = "loop"


class Wires:
    """Compares the wires of a loop in one model with those of its partner in the other model.

    `same(a, b)` tells whether value `a` of the first model may equal value `b` of the second one.
    `corresponds(a, b)` is stricter: it is True only if the two are known to correspond. If it is
    None, `same` is used instead.
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
        """Make the `Wires` that compare the ports and back edges of two loops or branches.

        If the two nodes differ in type, a slice that a Loop body reads by Gather with the iteration
        number is treated as a port as well.

        Args:
            nodes: the two nodes.
            bodies: the body to compare of each node.
            places: where each file declares the wires.
            same: tells whether two values may be equal (see the class).
            corresponds: a stricter `same`; None means `same`.
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
        if any(isinstance(item, str) for item in feeds) or kind_of(feeds[0]) != kind_of(feeds[1]):
            alike = kind_of(feeds[0]) == kind_of(feeds[1])
            return None if alike else self._differs(numbers, WireSide.fed)
        left, right = feeds
        if isinstance(left, Carried) and isinstance(right, Carried):
            if start is not True and not self._continues_alike(left, right, numbers):
                return self._differs(numbers, WireSide.fed)
            if start is False:
                return None
        if isinstance(left, SLICES) and isinstance(right, SLICES):
            # Look at an input before an operation reverses it only if the formats differ, because
            # models of one format have the same operations before the loop.
            formats = {isinstance(side.node.op, OnnxOp) for side in self._sides}
            (way, source), (other, other_source) = (
                side.sliced(port, through=len(formats) == 2)
                for side, port in zip(self._sides, (left, right), strict=True)
            )
            if not way.agrees(other):
                return self._differs(numbers, WireSide.fed)
            if self._same(source, other_source):
                return None
        assert not isinstance(left, str)
        assert not isinstance(right, str)
        if self._same(self._sides[0].source(left), self._sides[1].source(right)):
            return None
        return self._differs(numbers, WireSide.begun)

    def start(self, first: int, second: int) -> WireDifference:
        """Describe the difference between the initial values of corresponding body parameters.

        `first` and `second` are the positions of the parameters. The caller has already found that
        the values differ.
        """
        return self._differs((first, second), WireSide.begun)

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
        ranks = {None if value is None else shape_of(value).rank for value in values} - {None}
        # In both formats a state keeps its shape; only what is joined has one more axis in an IR.
        return len(ranks) < 2 and self._same(*(values[0], values[1]))

    def output(
        self,
        first: int,
        second: int,
        *,
        after: tuple[Moved, Moved] = (Moved(), Moved()),
    ) -> WireDifference | None:
        """The difference between two corresponding outputs of the loops, or None.

        `first` and `second` are the positions of the outputs. `after` tells how each output is
        transposed and reversed after its loop.
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
            out_way(side, port, moved)
            for side, port, moved in zip(self._sides, (left, right), after, strict=True)
        ]
        if joined[0] == joined[1] and ways[0] == ways[1] and self._same(sources[0], sources[1]):
            return None
        names = [side.node.outputs[at].name for side, at in zip(self._sides, numbers, strict=True)]
        phrases, lines = [], []
        for side, port, at, moved in zip(self._sides, (left, right), numbers, after, strict=True):
            place, line = side.output_place(at)
            phrases.append(f"{out_words(side, port, moved)} ({place})")
            lines.append(line)
        other_name = "" if names[0] == names[1] else names[0]
        both = lines[0], lines[1]
        return WireDifference(names[1], self._loop, phrases[0], phrases[1], both, other_name)

    def joined(
        self, first: int, second: int, shapes: tuple[Sequence[int], Sequence[int]]
    ) -> WireDifference | None:
        """Describe how two loops concatenate the parts of two corresponding outputs.

        `first` and `second` are the indices of the outputs of the two loops, and `shapes` holds the
        shapes of their parts. Returns None if one of the outputs is not concatenated.
        """
        phrases, lines = [], []
        for side, external, shape in zip(self._sides, (first, second), shapes, strict=True):
            ports = side.body.ports.outputs
            port = next((port for port in ports if port.external == external), None)
            if port is None or isinstance(port, LastValue):
                return None
            place, line = side.output_place(external)
            words = out_words(side, port, Moved())
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
        """Return a difference if only one of the loops has a parameter for the iteration number.

        Returns None otherwise, or if nothing reads the parameter.
        """
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
        """Yield the positions of each pair of corresponding parameters, one in each body."""
        left, right = (
            [
                side.gathered[at].value if at in side.gathered else value
                for at, value in enumerate(side.body.graph.inputs)
            ]
            for side in self._sides
        )
        for index, value in enumerate(left):
            # Usually both bodies have their parameters in the same order, so the same position is
            # tried first.
            likely = [index] if index < len(right) else []
            places = (place for place in (*likely, *range(len(right))))
            partner = next(
                (place for place in places if self._corresponds(value, right[place])), None
            )
            if partner is not None:
                yield index, partner

    def carried(self, pairs: Iterable[tuple[int, int]]) -> Iterator[WireDifference]:
        """Yield the differences between the back edges of corresponding states.

        A pair holds the positions of two parameters, one in each body. A pair whose parameters are
        not both states is skipped.
        """
        for pair in pairs:
            kinds = {kind_of(side.feed(at)) for side, at in zip(self._sides, pair, strict=True)}
            found = self.input(*pair, start=False) if kinds == {"state"} else None
            if found is not None:
                yield found

    def slices(self) -> Iterator[WireDifference]:
        """Yield the wire differences of body parameters that receive slices in one or both loops.

        The number of slices determines how often a loop runs. Parameters whose wires agree are
        skipped.
        """
        for pair in self.inputs():
            kinds = [kind_of(side.feed(at)) for side, at in zip(self._sides, pair, strict=True)]
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
            yield from (
                self._differs((numbers[0], at), WireSide.fed) for at in right.without_input()
            )
        if numbers[1] is not None and numbers[0] is None:
            yield from (
                self._differs((at, numbers[1]), WireSide.fed) for at in left.without_input()
            )

    def all(self) -> Iterator[WireDifference]:
        """Yield the differences of all wires: of the parameters first, then of the outputs.

        The iteration number and the condition come last. There is at most one difference for each
        name.
        """
        differences = [self.input(*pair) for pair in self.inputs()]
        counts = [len(side.node.outputs) for side in self._sides]
        differences += [self.output(at, at) for at in range(min(counts))]
        differences += [self.iteration(), self.condition()]
        told: set[str] = set()
        for difference in differences:
            if difference is not None and difference.name not in told:
                told.add(difference.name)
                yield difference

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
