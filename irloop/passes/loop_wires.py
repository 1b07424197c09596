"""Represents the wires of a loop without port numbers, so that a pass can change them.

A wire connects a value outside the loop with a body parameter, or a body value with an output of
the loop. `LoopWires.of` reads the wires of a loop node into lists, which a pass edits. From the
edited lists, `LoopWires.replace` makes a node of any loop operation of the dialect, numbers its
ports, and replaces the old node.

A wire does not store the value that it passes on, but a use of this value: an input of a node that
reads it, such as an input of the loop node or of a body result. Therefore, if a rewriter replaces
the value while a pass runs, the wire passes on the new value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from irloop.dialects.loops import from_front
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.convert import Identity as OnnxIdentity
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Identity as OpenVinoIdentity
from irloop.graph.builder import shape_of
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
from irloop.graph.model import Body, Graph, Node, Use, Value, change_bodies, make_node
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.trips import kept_for_count

__all__ = ["LOOPS", "Entering", "Leaving", "LoopWires", "is_passed_on"]

#: The loops that passes work on; a Scan-8 becomes a Scan first.
LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan)

_BOOLEAN = TensorType(ElementType.BOOLEAN, Shape(()))
_NUMBER = TensorType(ElementType.I64, Shape(()))


#: The content of a body result: a value, and the only state that may use this result; None if
#: states may share it.
_Place = tuple[Value, "Entering | None"]


class _Held(Op, type="Held", inputs=1, outputs=0):
    """An operation that acts as a reader of a value, so that the value counts as used.

    It is needed for values to which only a wire refers.
    """


class _Ends:
    """Keeps values in use until the new loop reads them.

    A pass that changes the wires of a loop may connect a value that no node of the graph reads yet.
    For each such value, `hold` creates a node outside the graph that reads it. `release`
    disconnects these nodes once the new loop exists.
    """

    def __init__(self) -> None:
        self._nodes: list[Node] = []

    def hold(self, value: Value) -> Use:
        """Create a use of `value` that a wire can store instead of the value itself.

        The use is the input of a new node that is in no graph.
        """
        node = make_node(_Held(), "held", (value,), 0)
        self._nodes.append(node)
        return node, 0

    def release(self) -> None:
        """Disconnect the nodes that `hold` created, so that they no longer read any value."""
        for node in self._nodes:
            Rewriter(Graph()).set_inputs(node, ())
        self._nodes.clear()


def _at(end: Use) -> Value:
    """Return the value that a wire passes on; `end` is the node input that reads this value."""
    node, position = end
    value = node.inputs[position]
    assert value is not None, "an end always reads a value"
    return value


class Entering:
    """A value outside a loop, and the body parameter that receives it.

    `port` tells whether the parameter is a state, a slice or an invariant, and how it is sliced.
    The input and parameter numbers in `port` are ignored, because the new loop gets new ones. For a
    state, `result` is the body value that the back edge carries; otherwise it is None.
    """

    __slots__ = ("_ends", "_outer", "_result", "parameter", "port")

    def __init__(
        self, ends: _Ends, outer: Use, parameter: Value, port: InputPort, result: Use | None = None
    ) -> None:
        self._ends = ends
        self._outer = outer
        self._result = result
        self.parameter = parameter
        self.port = port

    @property
    def outer(self) -> Value:
        """The value outside the loop that the parameter receives."""
        return _at(self._outer)

    @outer.setter
    def outer(self, value: Value) -> None:
        self._outer = self._ends.hold(value)

    @property
    def result(self) -> Value | None:
        """The body value that is the state's next value; None if this is not a state."""
        return None if self._result is None else _at(self._result)

    @result.setter
    def result(self, value: Value | None) -> None:
        self._result = None if value is None else self._ends.hold(value)


class Leaving:
    """A loop output and the body value that it returns.

    `port` tells whether the output is the last value or the concatenation of all values. `state` is
    the state whose last value the output returns, or None. It is stored, because the body value may
    be the next value of several states.
    """

    __slots__ = ("_ends", "_value", "output", "port", "state")

    def __init__(
        self,
        ends: _Ends,
        value: Use,
        output: Value,
        port: OutputPort,
        state: Entering | None = None,
    ) -> None:
        self._ends = ends
        self._value = value
        self.output = output
        self.port = port
        self.state = state

    @property
    def value(self) -> Value:
        """The body value that the output returns."""
        return _at(self._value)

    @value.setter
    def value(self, value: Value) -> None:
        self._value = self._ends.hold(value)


class Numbered(Record):
    """The parts of a new loop node: inputs, port map, body parameters and body results.

    `externals` holds the inputs of the new node. `shown` lists, for each output of the new node,
    the outputs of the old node that it replaces.
    """

    externals: tuple[Value | None, ...]
    ports: PortMap
    parameters: list[Value]
    results: list[Value]
    shown: list[list[Value]]


class LoopWires:
    """All wires into and out of a loop body.

    `trip` and `starts` are the trip count and the initial condition, the first two inputs of a
    Loop. `goes_on` is the condition that the body returns. `iteration` is the parameter that
    receives the iteration number, and `running` the parameter that receives the condition of an
    ONNX Loop.
    """

    def __init__(self, node: Node, graph: Graph) -> None:
        self.node = node
        self.graph = graph
        self.iteration: Value | None = None
        self.running: Value | None = None
        self.inputs: list[Entering] = []
        self.outputs: list[Leaving] = []
        #: Nodes between the loop and the readers of its outputs.
        self.after: list[Node] = []
        self._ends = _Ends()
        self._trip: Use | None = None
        self._starts: Use | None = None
        self._goes_on: Use | None = None

    @classmethod
    def of(cls, node: Node) -> LoopWires | None:
        """Read the wires of a loop.

        Returns None if a required input or a result of the body is not connected, or if the body
        reads a parameter that receives no value.
        """
        body = node.body()
        ports, results = body.ports, body.graph.results
        if any(result.inputs[0] is None for result in results):
            return None
        wires = cls(node, body.graph)
        if isinstance(node.op, ov.Loop | onnx.Loop):
            connected = [value is not None for value in node.inputs[:2]]
            wires._trip = (node, 0) if connected[:1] == [True] else None
            wires._starts = (node, 1) if connected[1:] == [True] else None
        if ports.condition is not None:
            wires._goes_on = results[ports.condition], 0
        if ports.iteration is not None:
            wires.iteration = body.graph.input(ports.iteration)
        for port in ports.inputs:
            parameter = body.graph.input(port.parameter)
            if isinstance(node.op, onnx.Loop) and port.parameter == 1:
                wires.running = parameter
                continue
            at = port.external
            outer = node.inputs[at] if at < len(node.inputs) else None
            if outer is None:
                return None
            result = (results[port.result], 0) if isinstance(port, Carried) else None
            entering = from_front(port, shape_of(outer).rank)
            wires.inputs.append(Entering(wires._ends, (node, at), parameter, entering, result))
        mapped = {item.parameter for item in wires.inputs} | {wires.iteration, wires.running}
        if any(value not in mapped and value.is_used for value in body.graph.inputs):
            return None
        states: dict[int, Entering] = {}
        for item in wires.states:
            assert isinstance(item.port, Carried)
            states.setdefault(item.port.result, item)
        for shown in sorted(ports.outputs, key=lambda port: port.external):
            state = states.get(shown.result) if isinstance(shown, LastValue) else None
            value, output = (results[shown.result], 0), node.outputs[shown.external]
            leaving = from_front(shown, shape_of(body.graph.output(shown.result)).rank)
            wires.outputs.append(Leaving(wires._ends, value, output, leaving, state))
        return wires

    @property
    def trip(self) -> Value | None:
        """The trip count of a Loop; None if it is omitted."""
        return None if self._trip is None else _at(self._trip)

    @trip.setter
    def trip(self, value: Value | None) -> None:
        self._trip = None if value is None else self._ends.hold(value)

    @property
    def starts(self) -> Value | None:
        """The initial condition of a Loop; None if it is omitted."""
        return None if self._starts is None else _at(self._starts)

    @starts.setter
    def starts(self, value: Value | None) -> None:
        self._starts = None if value is None else self._ends.hold(value)

    @property
    def goes_on(self) -> Value | None:
        """The body value that decides whether another iteration follows; None if there is none."""
        return None if self._goes_on is None else _at(self._goes_on)

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

    def enter(self, outer: Value, name: str, port: InputPort, type: ValueType) -> Value:
        """Add an input of the loop; return the body parameter that receives it."""
        parameter = self.graph.add_parameter(name, type, location=self.node.location)
        self.inputs.append(Entering(self._ends, self._ends.hold(outer), parameter, port))
        return parameter

    def leave(
        self, value: Value, output: Value, port: OutputPort, state: Entering | None = None
    ) -> Leaving:
        """Add an output to the loop; `replace` makes the readers of `output` read the new output.

        The new output returns or collects the body value `value`. Pass `state` if the output
        returns the last value of this state.
        """
        made = Leaving(self._ends, self._ends.hold(value), output, port, state)
        self.outputs.append(made)
        return made

    def capture(self, outer: Value, name: str) -> Value:
        """Return the body parameter for an invariant outer value; add one if there is none."""
        for item in self.invariants:
            if item.outer is outer:
                return item.parameter
        return self.enter(outer, name, Invariant(0, 0), outer.type)

    def number(self, name: str) -> Value:
        """Return the body parameter that receives the iteration number.

        If the loop has none, add an i64 parameter with this name.
        """
        if self.iteration is None:
            self.iteration = self.graph.add_parameter(name, _NUMBER, location=self.node.location)
        return self.iteration

    def change_output(
        self, leaving: Leaving, rewriter: MatchRewriter, change: Callable[[Value], Value]
    ) -> None:
        """Insert nodes after a loop that change one of its outputs, and redirect its readers.

        `leaving` is the output. `change` gets the output value, adds the nodes and returns their
        result. The former readers of the output then read this result, which also takes over the
        names of the output.
        """
        old = leaving.output
        before = old.uses
        new = change(old)
        for node, position in before:
            rewriter.set_input(node, position, new)
        if new is not old:
            new.names, old.names = old.names, ()
        chain: list[Node] = []
        value: Value | None = new
        while value is not old and value is not None:
            chain.append(value.producer)
            value = value.producer.inputs[0]
        self.after += reversed(chain)

    def replace(self, op: Op, rewriter: MatchRewriter) -> Node:
        """Create a node of `op` with these wires, and replace the loop by it.

        An output that was removed from `outputs` must have no readers.
        """
        node = self.node
        new, shown = self.insert(op, rewriter, before=node)
        new.info, new.location = node.info, node.location
        if type(op) is type(node.op):
            new.attributes = node.attributes
        for old, output in zip(shown, new.outputs, strict=True):
            for value in old:
                output.info = value.info
                rewriter.replace_value(value, output)
        name = node.name
        rewriter.erase(node)
        new.name = name
        for follower in self.after:
            # The types of these nodes were inferred from the outputs of the old loop.
            rewriter.inference.visit(follower)
        return new

    def insert(
        self, op: Op, rewriter: MatchRewriter, *, before: Node | None
    ) -> tuple[Node, list[list[Value]]]:
        """Insert a node with the operation `op`, and move the body of the old loop to it.

        Return the node and, for each of its outputs, the old outputs that it replaces.
        """
        made = self.numbered(op)
        self._ends.release()
        self.graph.parameters[:] = [value.producer for value in made.parameters]
        self._set_results(made.results)
        change_bodies(self.node, ())
        new = rewriter.insert(
            op,
            made.externals,
            before=before,
            name=self.node.name,
            n_outputs=len(made.shown),
            bodies=(Body("body", self.graph, made.ports),),
        )
        return new, made.shown

    def numbered(self, op: Op) -> Numbered:
        """Return the wires as inputs, port map, parameters and results of a new loop node.

        `op` is the operation of the new node. Its dialect, OpenVINO or ONNX, determines their
        order.
        """
        if isinstance(op, ov.Loop | ov.TensorIterator):
            return self._openvino(isinstance(op, ov.Loop))
        return self._onnx(isinstance(op, onnx.Loop))

    def _openvino(self, is_loop: bool) -> Numbered:
        parameters = [] if self.iteration is None else [self.iteration]
        parameters += [item.parameter for item in self.inputs]
        states, leavings = self._places()
        wanted = [*leavings.values(), *states.values()]
        if is_loop and self.goes_on is not None:
            wanted.insert(0, (self.goes_on, None))
        numbers = {place: at for at, place in enumerate(dict.fromkeys(wanted))}
        results = [value for value, _ in numbers]
        externals: list[Value | None] = [self.trip, self.starts] if is_loop else []
        inputs: list[InputPort] = []
        for item in self.inputs:
            # A port must not read input 1, the condition: OpenVINO would remove that input
            # (OVN148).
            at = len(externals)
            externals.append(item.outer)
            parameter = parameters.index(item.parameter)
            if item.result is None:
                inputs.append(replace(item.port, external=at, parameter=parameter))
                continue
            inputs.append(Carried(at, parameter, numbers[states[item]]))
        inputs.sort(key=lambda port: port.external)
        outputs = [
            replace(item.port, result=numbers[leavings[item]], external=at)
            for at, item in enumerate(self.outputs)
        ]
        iteration = None if self.iteration is None else 0
        condition = 0 if is_loop and self.goes_on is not None else None
        ports = PortMap(tuple(inputs), tuple(outputs), iteration, condition)
        shown = [[item.output] for item in self.outputs]
        return Numbered(tuple(externals), ports, parameters, results, shown)

    def _places(self) -> tuple[dict[Entering, _Place], dict[Leaving, _Place]]:
        """Determine from which body result each state and each output takes its value.

        Returns one mapping for the states and one for the outputs. States with the same next value
        share a body result, with one exception. If the loop runs zero iterations, an output that
        returns a shared result gets the initial value of the first state that shares it. Therefore
        any further state gets a body result of its own if an output returns its last value.
        """
        shown = self.shown_by_each()
        first: dict[Value, Entering] = {}
        states: dict[Entering, _Place] = {}
        for item in shown:
            if item.result is None:
                continue
            is_shared = first.setdefault(item.result, item) is not item
            states[item] = item.result, item if is_shared and shown[item] else None
        leavings: dict[Leaving, _Place] = {item: (item.value, None) for item in self.outputs}
        for state, place in states.items():
            leavings.update(dict.fromkeys(shown[state], place))
        return states, leavings

    def _onnx(self, is_loop: bool) -> Numbered:
        parameters: list[Value] = []
        results: list[Value] = []
        externals: list[Value | None] = []
        inputs: list[InputPort] = []
        if is_loop:
            assert self.goes_on is not None
            parameters = [self.number("iteration"), self._running()]
            results, externals = [self.goes_on], [self.trip, self.starts]
            inputs = [Carried(1, 1, 0)]
        outputs: list[OutputPort] = []
        shown: list[list[Value]] = []
        each = self.shown_by_each()
        for item in [*self.states, *self.slices, *self.invariants]:
            at = len(parameters)
            parameters.append(item.parameter)
            externals.append(item.outer)
            if item.result is None:
                inputs.append(replace(item.port, external=at, parameter=at))
                continue
            inputs.append(Carried(at, at, len(results)))
            outputs.append(LastValue(len(results), len(shown)))
            results.append(item.result)
            shown.append([leaving.output for leaving in each[item]])
        for leaving in self.outputs:
            if not isinstance(leaving.port, LastValue):
                port = replace(leaving.port, result=len(results), external=len(shown))
                outputs.append(port)
                results.append(leaving.value)
                shown.append([leaving.output])
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
        found: dict[Entering, list[Leaving]] = {state: [] for state in self.states}
        ending: dict[Value, list[Entering]] = {}
        for state in found:
            if state.result is not None:
                ending.setdefault(state.result, []).append(state)
        for leaving in self.outputs:
            states = ending.get(leaving.value) if isinstance(leaving.port, LastValue) else None
            if states:
                one = leaving.state if leaving.state in states else None
                found[one or states[0]].append(leaving)
        return found

    def _running(self) -> Value:
        if self.running is None:
            self.running = self.graph.add_parameter(
                "condition_in", _BOOLEAN, location=self.node.location
            )
        return self.running

    def _set_results(self, values: Sequence[Value]) -> None:
        """Make these values the results of the body, in this order."""
        rewriter = Rewriter(self.graph)
        names = {result.inputs[0]: result.name for result in self.graph.results}
        for result in list(self.graph.results):
            rewriter.erase_result(result)
        taken: set[str] = set()
        for value in values:
            name = names.get(value, f"{value.producer.name}/out")
            while name in taken:
                name += "_1"
            taken.add(name)
            self.graph.add_result(value, name, self.node.location)

    def remove(self, op: Op, unread: Iterable[Entering | Leaving]) -> bool:
        """Remove wires that nothing reads; return True if any was removed.

        `op` is the operation of the loop. One wire is kept if nothing else determines the trip
        count.
        """
        items: list[Entering | Leaving] = [*self.inputs, *self.outputs]
        gone = set(unread)
        removed = {at for at, item in enumerate(items) if item in gone}
        kept = kept_for_count(op, [item.port for item in items], removed)
        if kept is not None:
            gone.remove(items[kept])
        self.inputs = [item for item in self.inputs if item not in gone]
        self.outputs = [item for item in self.outputs if item not in gone]
        return bool(gone)

    def drop_unread(self, op: Op) -> bool:
        """Remove slices and invariants that the body does not read; see `remove`.

        An unread iteration number of an OpenVINO Loop is removed, too. Returns True if anything was
        removed.
        """
        unread = [
            item for item in self.inputs if item.result is None and not item.parameter.is_used
        ]
        changed = self.remove(op, unread)
        if isinstance(op, ov.Loop) and self.iteration is not None and not self.iteration.is_used:
            self.iteration, changed = None, True
        return changed


def is_passed_on(item: Entering) -> bool:
    """True for a state that the body returns unchanged, directly or through Identity operations."""
    value = item.result
    while value is not None and isinstance(value.producer.op, OpenVinoIdentity | OnnxIdentity):
        value = value.producer.inputs[0]
    return value is item.parameter
