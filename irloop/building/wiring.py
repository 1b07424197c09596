"""Makes the port map of a body from the inputs, states and outputs that the user added.

IR allows any order. ONNX demands this order: the inputs are the states, the scanned inputs and then
the captured values; the outputs are the states and then the scan outputs. In a Loop, the trip count
(in the body, the iteration number) and the condition come before the other inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    ScanInput,
    ScanOutput,
    Sliced,
)
from irloop.graph.model import Graph, Value

__all__ = ["Joined", "Last", "Part", "State", "Wired", "Wires", "onnx_wires", "openvino_wires"]


@dataclass(slots=True, eq=False)
class State:
    """A state: its parameter in the body, its initial value outside, its next value in the body."""

    parameter: Value
    initial: Value
    next: Value | None = None


@dataclass(slots=True, eq=False)
class Part:
    """A sliced input of a loop: in each iteration, `parameter` receives a slice of `source`."""

    parameter: Value
    source: Value
    axis: int
    start: int
    end: int
    stride: int
    part_size: int


@dataclass(slots=True, eq=False)
class Last:
    """An output of a loop: the value of `inner` in the last iteration.

    If `state` is set, the output is the last value of this state.
    """

    inner: Value
    output: Value
    state: State | None


@dataclass(slots=True, eq=False)
class Joined:
    """An output of the loop that concatenates the values of `inner` from all iterations."""

    inner: Value
    output: Value
    axis: int
    start: int
    end: int
    stride: int
    part_size: int


@dataclass(slots=True)
class Wires:
    """The connections of a loop body: states, inputs and outputs, each in the order of addition."""

    states: list[State] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    #: For each value that is the same in every iteration, its parameter in the body.
    invariants: dict[Value, Value] = field(default_factory=dict)
    lasts: list[Last] = field(default_factory=list)
    joined: list[Joined] = field(default_factory=list)
    iteration: Value | None = None
    condition: Value | None = None


@dataclass(frozen=True, slots=True)
class Wired:
    """The inputs and outputs of a loop node, and its port map.

    Trip count and condition, if the operation has them, are not among the inputs.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    ports: PortMap


def openvino_wires(
    wires: Wires, body: Graph, first: int, add_result: Callable[[Value], None]
) -> Wired:
    """Derive the inputs, outputs and port map of a Loop or TensorIterator from `wires`.

    `first` is the number of inputs of the node that precede those for the body. `add_result` is
    called with each value that becomes a result of the body.
    """
    at = {value: index for index, value in enumerate(body.inputs)}
    results: dict[int, Value] = {}

    def result(value: Value) -> int:
        add_result(value)
        results[len(results)] = value
        return len(results) - 1

    condition = None if wires.condition is None else result(wires.condition)
    externals: list[Value] = []
    inputs: list[InputPort] = []
    back: dict[State, int] = {}
    for state in wires.states:
        assert state.next is not None
        back[state] = result(state.next)
        inputs.append(Carried(first + len(externals), at[state.parameter], back[state]))
        externals.append(state.initial)
    for part in wires.parts:
        port = Sliced(
            first + len(externals),
            at[part.parameter],
            part.axis,
            part.start,
            part.end,
            part.stride,
            part.part_size,
        )
        inputs.append(port)
        externals.append(part.source)
    for source, parameter in wires.invariants.items():
        inputs.append(Invariant(first + len(externals), at[parameter]))
        externals.append(source)
    outputs: list[OutputPort] = []
    for last in wires.lasts:
        number = result(last.inner) if last.state is None else back[last.state]
        outputs.append(LastValue(number, len(outputs)))
    for item in wires.joined:
        outputs.append(
            Concatenated(
                result(item.inner),
                len(outputs),
                item.axis,
                item.start,
                item.end,
                item.stride,
                item.part_size,
            )
        )
    iteration = None if wires.iteration is None else at[wires.iteration]
    ports = PortMap(tuple(inputs), tuple(outputs), iteration, condition)
    made = [last.output for last in wires.lasts] + [item.output for item in wires.joined]
    return Wired(tuple(externals), tuple(made), ports)


def onnx_wires(
    wires: Wires, body: Graph, first: int, add_result: Callable[[Value], None], *, loop: bool
) -> Wired:
    """Make the port map of an ONNX Loop, or of a Scan if `loop` is False.

    `first` is the position of the first state among the inputs of the node. The results of the body
    are added with `add_result`, and its parameters are sorted as ONNX requires. ONNX has an output
    for every state; a state without an output in `wires` gets a new value without readers.
    """
    order = [] if wires.iteration is None else [wires.iteration]
    if loop:
        order += [value for value in body.inputs if value is not wires.iteration][:1]
    order += [state.parameter for state in wires.states]
    order += [part.parameter for part in wires.parts]
    order += list(wires.invariants.values())
    position = {value: index for index, value in enumerate(order)}
    body.parameters.sort(key=lambda node: position[node.outputs[0]])
    before = len(order) - len(wires.states) - len(wires.parts) - len(wires.invariants)
    inputs: list[InputPort] = []
    results = 0
    if wires.condition is not None:
        add_result(wires.condition)
        inputs.append(Carried(1, 1, 0))
        results = 1
    outputs: list[OutputPort] = []
    made: list[Value] = []
    for index, state in enumerate(wires.states):
        assert state.next is not None
        add_result(state.next)
        inputs.append(Carried(first + index, before + index, results))
        outputs.append(LastValue(results, len(outputs)))
        asked = [item.output for item in wires.lasts if item.state is state]
        made.append(asked[0] if asked else Value(state.parameter.producer, 0))
        results += 1
    shift = first - before
    for part in wires.parts:
        at = position[part.parameter]
        inputs.append(ScanInput(shift + at, at, part.axis, part.stride < 0))
    for parameter in wires.invariants.values():
        at = position[parameter]
        inputs.append(Invariant(shift + at, at))
    for item in wires.joined:
        add_result(item.inner)
        outputs.append(ScanOutput(results, len(outputs), item.axis, item.stride < 0))
        made.append(item.output)
        results += 1
    externals = (
        *(state.initial for state in wires.states),
        *(part.source for part in wires.parts),
        *wires.invariants,
    )
    iteration = 0 if loop else None
    condition = 0 if loop else None
    return Wired(
        externals, tuple(made), PortMap(tuple(inputs), tuple(outputs), iteration, condition)
    )
