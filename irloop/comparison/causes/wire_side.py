"""Describes the wires (ports and back edges) of a loop or an If, with their lines in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from irloop.comparison.causes.copies import unchanged
from irloop.comparison.causes.gathered import Gathered
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

__all__ = ["NOTHING", "SLICES", "Feed", "Moved", "WireSide", "kind_of", "out_way", "out_words"]

#: A description of what feeds a body parameter: a wire, the iteration number, or nothing.
Feed = InputPort | Gathered | str
ITERATION, NOTHING = "iteration", "nothing"

SLICES = (Sliced, ScanInput, Gathered)


class Moved(NamedTuple):
    """How an output of a loop is transposed and reversed after the loop.

    `order` is the permutation of its axes; `turned` is true if it is reversed.
    """

    order: Sequence[int] | None = None
    turned: bool = False


class WireSide(NamedTuple):
    """One of two compared loops or Ifs, together with one of its bodies.

    `places` finds the line of each wire in the file of the model. `gathered` maps the positions of
    body parameters to the slices that the body gathers from these parameters.
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

        The result is the constant `ITERATION` if the iteration number feeds the parameter, and the
        constant `NOTHING` if nothing feeds it.
        """
        if parameter == self.body.ports.iteration:
            return ITERATION
        if parameter in self.gathered:
            return self.gathered[parameter]
        return self.body.ports.by_parameter.get(parameter, NOTHING)

    def without_input(self) -> Iterator[int]:
        """Yield the positions of body parameters that are read but have no input."""
        for at, value in enumerate(self.body.graph.inputs):
            if value.is_used and self.feed(at) == NOTHING:
                yield at

    def position(self, value: Value) -> int | None:
        """Return the position of the body parameter from which `value` comes, or None.

        `value` is the parameter itself, a copy of it, or the slice of it that the body gathers in
        each iteration.
        """
        value = unchanged(value)
        if value in self.body.graph.inputs:
            return self.body.graph.inputs.index(value)
        return next((at for at, item in self.gathered.items() if item.value is value), None)

    def source(self, wire: InputPort | Gathered) -> Value | None:
        """Return the input of the node that a wire brings into the body.

        The result is None if the node has no such input or if the input is omitted.
        """
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
        """Describe where the file declares the input of a body parameter; also return its line.

        The result is, for example, ("port 1, line 41", 41). If the place is not known, the line is
        None, and the description is "input 2" for input number 2 of the node, "captured" for a
        captured value of an ONNX body, or "" for a parameter that no input feeds.
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
        entry = self.places.input(self.node, self.body.label, parameter)
        if entry is not None and entry.back_edge_line is not None:
            words = (
                "back edge" if entry.back_edges == 1 else f"first of {entry.back_edges} back edges"
            )
            words += f" of port {entry.port}, line {entry.back_edge_line}"
            return words, entry.back_edge_line
        return f"body output {result}", None

    def described(self, parameter: int) -> str:
        """Describe in words from where body parameter number `parameter` gets its value."""
        return self.fed(parameter, NOTHING)[0]

    def begun(self, parameter: int, _beside: Feed = NOTHING) -> tuple[str, int | None]:
        """Describe where a state starts or an invariant comes from; also return the line.

        An example is ("starts from `init` (port 1, line 41)", 41). The line is that of the port map
        entry in the file; None if it is unknown. `parameter` is the number of the body parameter.
        `_beside` is ignored; it gives this method the same parameters as `fed`.
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

    def fed(self, parameter: int, beside: Feed) -> tuple[str, int | None]:
        """Describe what feeds a body parameter, and find its line in the file (None if unknown).

        `beside` is what feeds the corresponding parameter of the other loop. If that is a state and
        this parameter is invariant, the description reports that the back edge is missing.
        """
        wire = self.feed(parameter)
        place, line = self.input_place(parameter)
        where = f" ({place})" if place else ""
        if isinstance(wire, str):
            words = {ITERATION: "is the iteration number", NOTHING: "is fed by nothing"}
            entry = self.places.input(self.node, self.body.label, parameter)
            if entry is not None:
                purpose = f"purpose {entry.purpose}" if entry.purpose else "no purpose"
                where = f" ({purpose}, line {entry.line})"
            return words[wire] + where, line
        if isinstance(wire, Carried):
            value = self.result(wire.result)
            edge, edge_line = self.back_edge(parameter, wire.result)
            if value is not None and unchanged(value) is self.body.graph.input(parameter):
                return f"is not carried: its back edge returns it unchanged ({edge})", edge_line
            name = "nothing" if value is None else f"`{value.name}`"
            return f"is carried from {name} ({edge})", edge_line
        if isinstance(wire, Invariant):
            if isinstance(beside, Carried):
                port, _, rest = place.partition(", ")
                return f"is not carried: {port} has no back edge" + (rest and f", {rest}"), line
            return f"is the same in every iteration{where}", line
        return f"is sliced {self.sliced(wire)[0]}{where}", line


def kind_of(feed: Feed) -> str:
    """Return the kind of wire that feeds a body parameter.

    The result is "slice", "state" or "invariant" for a wire, the constant `ITERATION` if the
    iteration number feeds the parameter, and the constant `NOTHING` if nothing feeds it.
    """
    if isinstance(feed, str):
        return feed
    if isinstance(feed, SLICES):
        return "slice"
    return "state" if isinstance(feed, Carried) else "invariant"


def out_way(side: WireSide, port: OutputPort, moved: Moved) -> tuple[int, ...]:
    """Return the axis along which a loop output is concatenated, and its direction, 1 or -1.

    Both refer to the output after it was transposed and reversed as `moved` describes. The result
    is empty for a last value, which is not concatenated.
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


def out_words(side: WireSide, port: OutputPort, moved: Moved) -> str:
    """Describe an output in words, such as "stacks `y` along axis 0, forwards".

    `port` is an output port of the loop or branch in `side`. `moved` tells how the output is
    transposed and reversed after the loop.
    """
    value = side.result(port.result)
    name = "nothing" if value is None else f"`{value.name}`"
    if isinstance(port, LastValue):
        return f"is {name}" if side.owner == "If" else f"is the last {name}"
    axis, step = out_way(side, port, moved._replace(turned=False))
    verb = "stacks" if isinstance(port, ScanOutput) else "joins"
    words = f"{verb} {name} along axis {axis}, " + ("backwards" if step < 0 else "forwards")
    return words + (", and is reversed afterwards" if moved.turned else "")
