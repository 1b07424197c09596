"""Reads the wires of loops, and numbers the ports of new ones: no other module does.

`Wires` holds the wires of one loop, new or read from a node, as lists that may be edited.
`Wires.numbered` makes a port map for any loop operation of a dialect from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from irloop.diagnostics import NOWHERE, Location
from irloop.dialects.loops import from_front
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import INVARIANT, STATE, Ends, Entering, Leaving, value_at
from irloop.graph.builder import Builder, shape_of
from irloop.graph.loops import (
    Carried,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    ScanInput,
    Sliced,
)
from irloop.graph.model import Body, Graph, Node, Use, Value
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = ["LooseEndError", "Numbered", "Wires", "branch_ports"]

BOOLEAN = TensorType(ElementType.BOOLEAN, Shape(()))
NUMBER = TensorType(ElementType.I64, Shape(()))


def branch_ports(externals: Iterable[int], count: int) -> PortMap:
    """The port map of a branch.

    Its parameters receive the inputs `externals` of the If, in order, and its `count` results are
    the outputs of the If.
    """
    inputs = tuple(Invariant(external, at) for at, external in enumerate(externals))
    return PortMap(inputs, tuple(LastValue(at, at) for at in range(count)))


class LooseEndError(Exception):
    """Raised for a loop whose wires cannot be read; the message tells what is not connected."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.fix = fix


#: The content of a body result: a value, and the only wire that may use this result; None if wires
#: may share it.
_Place = tuple[Value, Entering | Leaving | None]


class Numbered(Record):
    """The parts of a new loop node: inputs, port map, body parameters and body results.

    `externals` holds the inputs of the new node. `shown` lists, for each output of the new node,
    the wires that lead to it.
    """

    externals: tuple[Value | None, ...]
    ports: PortMap
    parameters: list[Value]
    results: list[Value]
    shown: list[list[Leaving]]


class Wires:
    """All wires into and out of a loop body.

    `iteration` is the parameter that receives the iteration number, and `running` the parameter
    that receives the condition of an ONNX Loop. With `shares`, states and outputs of an OpenVINO
    loop that return the same body value may share a body result.
    """

    def __init__(self, graph: Graph, location: Location = NOWHERE, *, shares: bool = False) -> None:
        self.graph = graph
        self.location = location
        self.shares = shares
        self.iteration: Value | None = None
        self.running: Value | None = None
        self.inputs: list[Entering] = []
        self.outputs: list[Leaving] = []
        self._ends = Ends()
        self._trip: Value | Use | None = None
        self._starts: Value | Use | None = None
        self._goes_on: Value | Use | None = None

    def read(self, node: Node) -> None:
        """Read the wires of a loop node; its body is the graph of these wires.

        Raises:
            LooseEndError: when a required input or a result of the body is not connected, or the
                body reads a parameter that receives no value.
        """
        ports, results = node.body().ports, self.graph.results
        if any(result.inputs[0] is None for result in results):
            raise LooseEndError("a result of its body is not connected")
        if isinstance(node.op, ov.Loop | onnx.Loop):
            connected = [value is not None for value in node.inputs[:2]]
            self._trip = (node, 0) if connected[:1] == [True] else None
            self._starts = (node, 1) if connected[1:] == [True] else None
        if ports.condition is not None:
            self._goes_on = results[ports.condition], 0
        if ports.iteration is not None:
            self.iteration = self.graph.input(ports.iteration)
        states: dict[int, Entering] = {}
        for port in ports.inputs:
            parameter = self.graph.input(port.parameter)
            if isinstance(node.op, onnx.Loop) and port.parameter == 1:
                self.running = parameter
                continue
            external = port.external
            outer = node.inputs[external] if external < len(node.inputs) else None
            if outer is None:
                raise LooseEndError(f"input {external} is not connected")
            plain = replace(from_front(port, shape_of(outer).rank), external=0, parameter=0)
            entering = Entering(self._ends, (node, external), parameter, plain)
            if isinstance(port, Carried):
                entering.port, entering._result = STATE, (results[port.result], 0)
                states.setdefault(port.result, entering)
            self.inputs.append(entering)
        mapped = {item.parameter for item in self.inputs} | {self.iteration, self.running}
        for value in self.graph.inputs:
            if value not in mapped and value.is_used:
                name = value.producer.name
                fix = "map it in the port map (rule IRL512)"
                raise LooseEndError(f"body parameter {name!r} gets no value", fix)
        for shown in sorted(ports.outputs, key=lambda port: port.external):
            state = states.get(shown.result) if isinstance(shown, LastValue) else None
            leaving = from_front(shown, shape_of(self.graph.output(shown.result)).rank)
            end = results[shown.result], 0
            made = Leaving(self._ends, end, replace(leaving, result=0, external=0), state)
            made.output = node.outputs[shown.external]
            self.outputs.append(made)

    @property
    def trip(self) -> Value | None:
        """The trip count of a Loop; None if it is omitted."""
        return None if self._trip is None else value_at(self._trip)

    @trip.setter
    def trip(self, value: Value | None) -> None:
        self._trip = None if value is None else self._ends.hold(value)

    @property
    def starts(self) -> Value | None:
        """The initial condition of a Loop; None if it is omitted."""
        return None if self._starts is None else value_at(self._starts)

    @starts.setter
    def starts(self, value: Value | None) -> None:
        self._starts = None if value is None else self._ends.hold(value)

    @property
    def goes_on(self) -> Value | None:
        """The body value that decides whether another iteration follows; None if there is none."""
        return None if self._goes_on is None else value_at(self._goes_on)

    @goes_on.setter
    def goes_on(self, value: Value | None) -> None:
        self._goes_on = None if value is None else self._ends.hold(value)

    @property
    def states(self) -> list[Entering]:
        """The wires that carry a value from iteration to iteration."""
        return [item for item in self.inputs if isinstance(item.port, Carried)]

    @property
    def slices(self) -> list[Entering]:
        """The wires that pass one slice per iteration."""
        return [item for item in self.inputs if isinstance(item.port, Sliced | ScanInput)]

    @property
    def invariants(self) -> list[Entering]:
        """The wires that pass the same value in every iteration."""
        return [item for item in self.inputs if isinstance(item.port, Invariant)]

    def enter(self, outer: Value, name: str, port: InputPort, type: ValueType) -> Entering:
        """Add an input of the loop, and a body parameter that receives it."""
        parameter = self.graph.add_parameter(name, type, location=self.location)
        made = Entering(self._ends, self._ends.hold(outer), parameter, port)
        self.inputs.append(made)
        return made

    def leave(
        self,
        value: Value,
        port: OutputPort,
        state: Entering | None = None,
        *,
        output: Value | None = None,
    ) -> Leaving:
        """Add an output to the loop that returns or collects the body value `value`.

        Pass `state` if the output returns the last value of this state, and as `output` the value
        that the new output replaces.
        """
        made = Leaving(self._ends, self._ends.hold(value), port, state)
        if output is not None:
            made.output = output
        self.outputs.append(made)
        return made

    def capture(self, outer: Value, name: str) -> Value:
        """Return the body parameter for an invariant outer value; add one if there is none."""
        for item in self.invariants:
            if item.outer is outer:
                return item.parameter
        return self.enter(outer, name, INVARIANT, outer.type).parameter

    def number(self, name: str) -> Value:
        """Return the body parameter that receives the iteration number.

        If the loop has none, add an i64 parameter with this name.
        """
        if self.iteration is None:
            self.iteration = self.graph.add_parameter(name, NUMBER, location=self.location)
        return self.iteration

    def sort(self) -> None:
        """Put states before slices, and slices before invariants."""
        order = {Carried: 0, Sliced: 1, ScanInput: 1, Invariant: 2}
        self.inputs.sort(key=lambda item: order[type(item.port)])

    def emit(self, builder: Builder, op: Op) -> Node:
        """Append a new loop with these wires to the graph of `builder`; each wire gets its output.

        The body has no results yet.
        """
        made = self.numbered(op)
        self.graph.parameters[:] = [value.producer for value in made.parameters]
        for value in made.results:
            name = builder.names.fresh(f"{value.producer.name}/out")
            self.graph.add_result(value, name, self.location)
        bodies = (Body("body", self.graph, made.ports),)
        count = len(made.shown)
        node = builder.emit(op, *made.externals, n_outputs=count, bodies=bodies)
        for wires, output in zip(made.shown, node.outputs, strict=True):
            for leaving in wires:
                leaving.output = output
        return node

    def numbered(self, op: Op) -> Numbered:
        """Return the wires as inputs, port map, parameters and results of a new loop node.

        `op` is the operation of the new node. Its dialect, OpenVINO or ONNX, determines their
        order.
        """
        if isinstance(op, ov.Loop | ov.TensorIterator):
            return self._openvino(isinstance(op, ov.Loop))
        return self._onnx(op)

    def _parameters(self) -> Sequence[Value]:
        """The body parameters of an OpenVINO loop, in order."""
        return self.graph.inputs

    def _openvino(self, is_loop: bool) -> Numbered:
        parameters = list(self._parameters())
        position = {value: at for at, value in enumerate(parameters)}
        states, leavings = self._places()
        wanted = [*leavings.values(), *states.values()]
        if is_loop and self.goes_on is not None:
            wanted.insert(0, (self.goes_on, None))
        numbers = {place: at for at, place in enumerate(dict.fromkeys(wanted))}
        results = [value for value, _ in numbers]
        externals: list[Value | None] = [self.trip, self.starts] if is_loop else []
        inputs: list[InputPort] = []
        for entering in self.inputs:
            # A port must not read input 1, the condition: OpenVINO would remove that input
            # (OVN148).
            port = replace(
                entering.port, external=len(externals), parameter=position[entering.parameter]
            )
            if isinstance(port, Carried):
                port = replace(port, result=numbers[states[entering]])
            externals.append(entering.outer)
            inputs.append(port)
        outputs = [
            replace(item.port, result=numbers[leavings[item]], external=at)
            for at, item in enumerate(self.outputs)
        ]
        iteration = None if self.iteration is None else position[self.iteration]
        condition = 0 if is_loop and self.goes_on is not None else None
        ports = PortMap(tuple(inputs), tuple(outputs), iteration, condition)
        shown = [[item] for item in self.outputs]
        return Numbered(tuple(externals), ports, parameters, results, shown)

    def _places(self) -> tuple[dict[Entering, _Place], dict[Leaving, _Place]]:
        """Determine from which body result each state and each output takes its value.

        Returns one mapping for the states and one for the outputs. An output that returns the last
        value of a state takes the result of the state. If `shares` is set, states with the same
        next value share a body result, with one exception. If the loop runs zero iterations, an
        output that returns a shared result gets the initial value of the first state that shares
        it. Therefore any further state gets a body result of its own if an output returns its last
        value.
        """
        shown = self.shown_by_each()
        first: dict[Value, Entering] = {}
        states: dict[Entering, _Place] = {}
        for state in shown:
            is_shared = first.setdefault(state.following, state) is not state
            is_own = is_shared and bool(shown[state]) if self.shares else True
            states[state] = state.following, state if is_own else None
        leavings: dict[Leaving, _Place] = {
            item: (item.value, None if self.shares else item) for item in self.outputs
        }
        for state, place in states.items():
            leavings.update(dict.fromkeys(shown[state], place))
        return states, leavings

    def _onnx(self, op: Op) -> Numbered:
        is_loop = isinstance(op, onnx.Loop)
        parameters: list[Value] = []
        results: list[Value] = []
        externals: list[Value | None] = []
        inputs: list[InputPort] = []
        if is_loop:
            assert self.goes_on is not None
            parameters = [self.number("iteration"), self._running()]
            results, externals = [self.goes_on], [self.trip, self.starts]
            inputs = [Carried(1, 1, 0)]
        elif isinstance(op, onnx.Scan8):
            externals = [None]  # the lengths of the items
        outputs: list[OutputPort] = []
        shown: list[list[Leaving]] = []
        each = self.shown_by_each()
        for entering in [*self.states, *self.slices, *self.invariants]:
            port = replace(entering.port, external=len(externals), parameter=len(parameters))
            parameters.append(entering.parameter)
            externals.append(entering.outer)
            if isinstance(port, Carried):
                port = replace(port, result=len(results))
                outputs.append(LastValue(len(results), len(shown)))
                results.append(entering.following)
                shown.append(each[entering])
            inputs.append(port)
        for leaving in self.outputs:
            if not isinstance(leaving.port, LastValue):
                outputs.append(replace(leaving.port, result=len(results), external=len(shown)))
                results.append(leaving.value)
                shown.append([leaving])
        first = 0 if is_loop else None
        ports = PortMap(tuple(inputs), tuple(outputs), first, first)
        return Numbered(tuple(externals), ports, parameters, results, shown)

    def state_of(self, leaving: Leaving) -> Entering | None:
        """Return the state whose last value an output returns; None if there is none.

        If several states have the same next value, the state that the output refers to
        (`leaving.state`) takes precedence.
        """
        if not isinstance(leaving.port, LastValue):
            return None
        states = [item for item in self.states if item.result is leaving.value]
        return leaving.state if leaving.state in states else next(iter(states), None)

    def shown_by(self, state: Entering) -> list[Leaving]:
        """The outputs that return the last value of a state."""
        return self.shown_by_each().get(state, [])

    def shown_by_each(self) -> dict[Entering, list[Leaving]]:
        """Map each state to the outputs that return its last value."""
        shown: dict[Entering, list[Leaving]] = {state: [] for state in self.states}
        ending: dict[Value, list[Entering]] = {}
        for state in shown:
            if state.result is not None:
                ending.setdefault(state.result, []).append(state)
        for leaving in self.outputs:
            states = ending.get(leaving.value) if isinstance(leaving.port, LastValue) else None
            if states:
                one = leaving.state if leaving.state in states else None
                shown[one or states[0]].append(leaving)
        return shown

    def _running(self) -> Value:
        if self.running is None:
            self.running = self.graph.add_parameter("condition_in", BOOLEAN, location=self.location)
        return self.running
