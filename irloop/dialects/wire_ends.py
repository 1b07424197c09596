"""The two kinds of wires of a loop, without port numbers; `Wires` in `wires` collects them.

A wire connects a value outside a loop with a body parameter, or a body value with an output of the
loop. It has a port record that tells its kind, in which all numbers are 0: `STATE`, `INVARIANT`,
`slice_port` (IR) or `element_port` (ONNX) for what enters, `LAST`, `joined_port` (IR) or
`stacked_port` (ONNX) for what leaves.
"""

from __future__ import annotations

from typing import NamedTuple

from irloop.dialects.onnx.convert import Identity as OnnxIdentity
from irloop.dialects.openvino.convert import Identity as OpenVinoIdentity
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Body, Node, Use, Value

__all__ = [
    "INVARIANT",
    "LAST",
    "STATE",
    "Ends",
    "Entering",
    "Inward",
    "Leaving",
    "Outward",
    "condition_result",
    "element_port",
    "inward",
    "iteration_number",
    "joined_port",
    "outward",
    "passed_on",
    "slice_port",
    "stacked_port",
    "states_of",
    "value_at",
]

#: The ports of a state, of an invariant and of an output that returns the value of the last
#: iteration.
STATE, INVARIANT, LAST = Carried(0, 0, 0), Invariant(0, 0), LastValue(0, 0)


def slice_port(
    axis: int, start: int = 0, end: int = -1, stride: int = 1, part_size: int = 1
) -> Sliced:
    """The port of a sliced input of IR."""
    return Sliced(0, 0, axis, start, end, stride, part_size)


def element_port(axis: int = 0, reverse: bool = False) -> ScanInput:
    """The port of a scanned input of ONNX."""
    return ScanInput(0, 0, axis, reverse)


def joined_port(
    axis: int, start: int = 0, end: int = -1, stride: int = 1, part_size: int = 1
) -> Concatenated:
    """The port of an output of IR that concatenates."""
    return Concatenated(0, 0, axis, start, end, stride, part_size)


def stacked_port(axis: int = 0, reverse: bool = False) -> ScanOutput:
    """The port of a scan output of ONNX."""
    return ScanOutput(0, 0, axis, reverse)


class Inward(NamedTuple):
    """What enters the body of a loop or branch.

    `outer` is the outer value, or None if nothing is connected; `use` is the input of the loop that
    reads it. `result` is the Result of the body that returns the next value of a state, else None.
    """

    port: InputPort
    use: Use
    outer: Value | None
    parameter: Value
    result: Node | None

    @property
    def following(self) -> Value:
        """The next value of a state whose Result is connected."""
        value = None if self.result is None else self.result.inputs[0]
        assert value is not None, "not a state, or a result is not connected"
        return value


class Outward(NamedTuple):
    """What leaves the body of a loop or branch through one of its Results."""

    port: OutputPort
    result: Node
    output: Value


def iteration_number(body: Body) -> Value | None:
    """The parameter of a body that receives the iteration number."""
    at = body.ports.iteration
    return None if at is None else body.graph.input(at)


def condition_result(body: Body) -> Node | None:
    """The Result of a body that returns whether another iteration follows."""
    at = body.ports.condition
    return None if at is None else body.graph.results[at]


def inward(node: Node, body: Body) -> list[Inward]:
    """Return what enters a body of `node`, in the order of the port map.

    `Wires` reads the wires of a complete loop, to change them.
    """
    made = []
    for port in body.ports.inputs:
        external = port.external
        outer = node.inputs[external] if external < len(node.inputs) else None
        result = body.graph.results[port.result] if isinstance(port, Carried) else None
        made.append(Inward(port, (node, external), outer, body.graph.input(port.parameter), result))
    return made


def states_of(node: Node) -> list[Inward]:
    """Return the states of a loop."""
    return [item for item in inward(node, node.body()) if item.result is not None]


def outward(node: Node, body: Body) -> list[Outward]:
    """Return what leaves a body of `node`, in the order of the port map."""
    return [
        Outward(port, body.graph.results[port.result], node.outputs[port.external])
        for port in body.ports.outputs
    ]


def passed_on(value: Value) -> Value:
    """The value that `value` equals: itself, or what Identity operations copy to it."""
    while isinstance(value.producer.op, OpenVinoIdentity | OnnxIdentity):
        source = value.producer.inputs[0]
        assert source is not None, "the body is connected"
        value = source
    return value


class Ends:
    """Stores the values at the ends of wires."""

    def hold(self, value: Value) -> Value | Use:
        """Return what a wire stores for this value."""
        return value


def value_at(end: Value | Use) -> Value:
    """Return the value that a wire passes on; `end` is the value, or an input that reads it."""
    if isinstance(end, Value):
        return end
    node, position = end
    value = node.inputs[position]
    assert value is not None, "an end always reads a value"
    return value


class Entering:
    """A value outside a loop, and the body parameter that receives it.

    `port` tells whether the parameter is a state, a slice or an invariant, and how it is sliced.
    For a state, `result` is the body value that the back edge carries; otherwise it is None.
    """

    __slots__ = ("_ends", "_outer", "_result", "parameter", "port")

    def __init__(
        self,
        ends: Ends,
        outer: Value | Use,
        parameter: Value,
        port: InputPort,
        result: Use | None = None,
    ) -> None:
        self._ends = ends
        self._outer = outer
        self._result: Value | Use | None = result
        self.parameter = parameter
        self.port = port

    @property
    def outer(self) -> Value:
        """The value outside the loop that the parameter receives."""
        return value_at(self._outer)

    @outer.setter
    def outer(self, value: Value) -> None:
        self._outer = self._ends.hold(value)

    @property
    def result(self) -> Value | None:
        """The body value that is the state's next value; None if this is not a state."""
        return None if self._result is None else value_at(self._result)

    @result.setter
    def result(self, value: Value | None) -> None:
        self._result = None if value is None else self._ends.hold(value)

    @property
    def following(self) -> Value:
        """The next value of a state, which must have one."""
        assert self._result is not None, "a state has a next value"
        return value_at(self._result)


class Leaving:
    """A loop output and the body value that it returns.

    `port` tells whether the output is the last value or the concatenation of all values. `state` is
    the state whose last value the output returns, or None. It is stored, because the body value may
    be the next value of several states. `output` is missing in a new loop that is not emitted yet.
    """

    __slots__ = ("_ends", "_value", "output", "port", "state")
    output: Value

    def __init__(
        self, ends: Ends, value: Value | Use, port: OutputPort, state: Entering | None = None
    ) -> None:
        self._ends = ends
        self._value = value
        self.port = port
        self.state = state

    @property
    def value(self) -> Value:
        """The body value that the output returns."""
        return value_at(self._value)

    @value.setter
    def value(self, value: Value) -> None:
        self._value = self._ends.hold(value)
