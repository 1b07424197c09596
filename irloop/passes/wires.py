"""The wires of a loop by what they join, free of positions, so that a pass can change them.

`LoopWires.of` reads a loop node, a pass edits the lists, `LoopWires.replace` makes a node of
any loop operation of the dialect from them, numbers its ports, and puts it in the old one's place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
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
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.rewriter import MatchRewriter

__all__ = ["LOOPS", "Entering", "Leaving", "LoopWires", "is_passed_on"]

#: The loops that passes work on; a Scan-8 is made a Scan first.
LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan)

_BOOLEAN = TensorType(ElementType.BOOLEAN, Shape(()))
_NUMBER = TensorType(ElementType.I64, Shape(()))


@dataclass(slots=True, eq=False)
class Entering:
    """An outer value and the body parameter that receives it.

    `port` says how (its positions mean nothing here); a state has the body value it continues
    with in `result`.
    """

    outer: Value
    parameter: Value
    port: InputPort
    result: Value | None = None


@dataclass(slots=True, eq=False)
class Leaving:
    """A body value and the output of the loop that shows it; `port` says how."""

    value: Value
    output: Value
    port: OutputPort


@dataclass(frozen=True, slots=True)
class Numbered:
    """Wires by position: what a node of some operation is made of.

    `shown` has the old outputs that each new output stands for.
    """

    externals: tuple[Value | None, ...]
    ports: PortMap
    parameters: list[Value]
    results: list[Value]
    shown: list[list[Value]]


@dataclass(slots=True, eq=False)
class LoopWires:
    """Everything that goes into a loop body and comes out of it.

    `trip` and `starts` are the first two inputs of a Loop, `goes_on` the body's condition,
    `iteration` the parameter that receives the number of the iteration, `running` the one that
    receives an ONNX Loop's condition.
    """

    node: Node
    graph: Graph
    trip: Value | None = None
    starts: Value | None = None
    goes_on: Value | None = None
    iteration: Value | None = None
    running: Value | None = None
    inputs: list[Entering] = field(default_factory=list)
    outputs: list[Leaving] = field(default_factory=list)
    names: dict[Value, str] = field(default_factory=dict)
    #: Nodes between the loop and what reads its outputs.
    behind: list[Node] = field(default_factory=list)

    @classmethod
    def of(cls, node: Node) -> LoopWires | None:
        """The wires of a loop; None when an input it needs is not connected."""
        body = node.body()
        ports, results = body.ports, body.graph.results
        given = [result.inputs[0] for result in results]
        values = [value for value in given if value is not None]
        if len(values) != len(given):
            return None
        wires = cls(node, body.graph)
        wires.names = {value: result.name for value, result in zip(values, results, strict=True)}
        if isinstance(node.op, ov.Loop | onnx.Loop):
            wires.trip, wires.starts = (*node.inputs[:2], None, None)[:2]
        if ports.condition is not None:
            wires.goes_on = values[ports.condition]
        if ports.iteration is not None:
            wires.iteration = body.graph.inputs[ports.iteration]
        for port in ports.inputs:
            parameter = body.graph.inputs[port.parameter]
            if isinstance(node.op, onnx.Loop) and port.parameter == 1:
                wires.running = parameter
                continue
            outer = node.inputs[port.external] if port.external < len(node.inputs) else None
            if outer is None:
                return None
            result = values[port.result] if isinstance(port, Carried) else None
            wires.inputs.append(Entering(outer, parameter, port, result))
        mapped = {item.parameter for item in wires.inputs} | {wires.iteration, wires.running}
        if any(value not in mapped and value.is_used for value in body.graph.inputs):
            return None
        wires.outputs = [
            Leaving(values[port.result], node.outputs[port.external], port)
            for port in sorted(ports.outputs, key=lambda port: port.external)
        ]
        return wires

    @property
    def states(self) -> list[Entering]:
        """What is carried from iteration to iteration."""
        return [item for item in self.inputs if isinstance(item.port, Carried)]

    @property
    def slices(self) -> list[Entering]:
        """What enters piece by piece."""
        return [item for item in self.inputs if isinstance(item.port, Sliced | ScanInput)]

    @property
    def invariants(self) -> list[Entering]:
        """What is the same in every iteration."""
        return [item for item in self.inputs if isinstance(item.port, Invariant)]

    def enter(self, outer: Value, name: str, port: InputPort, type: TensorType) -> Value:
        """A new input of the loop; the body's view of it."""
        parameter = self.graph.add_parameter(name, type, location=self.node.location)
        self.inputs.append(Entering(outer, parameter, port))
        return parameter

    def capture(self, outer: Value, name: str) -> Value:
        """The body's view of an outer value that does not change."""
        for item in self.invariants:
            if item.outer is outer:
                return item.parameter
        parameter = self.graph.add_parameter(name, outer.type, location=self.node.location)
        self.inputs.append(Entering(outer, parameter, Invariant(0, 0)))
        return parameter

    def number(self, name: str) -> Value:
        """The number of the iteration, in the type its parameter has (i64 where it is new)."""
        if self.iteration is None:
            self.iteration = self.graph.add_parameter(name, _NUMBER, location=self.node.location)
        return self.iteration

    def change_output(
        self, leaving: Leaving, rewriter: MatchRewriter, change: Callable[[Value], Value]
    ) -> None:
        """Let the readers of an output read what `change` makes of it, names included."""
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
        self.behind += reversed(chain)

    def replace(self, op: Op, rewriter: MatchRewriter) -> Node:
        """A node of `op` with these wires in place of the old node, which is erased.

        Outputs that are no longer listed must have no readers.
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
        for follower in self.behind:
            # Their types were those of the old outputs.
            rewriter.inference.visit(follower)
        return new

    def insert(
        self, op: Op, rewriter: MatchRewriter, *, before: Node | None
    ) -> tuple[Node, list[list[Value]]]:
        """A node of `op` that takes the body over, and the old outputs for each of its own."""
        made = self.numbered(op)
        self.graph.parameters[:] = [value.producer for value in made.parameters]
        self._set_results(made.results)
        self.node.bodies = ()
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
        """The wires as a node of `op` has them."""
        if isinstance(op, ov.Loop | ov.TensorIterator):
            return self._openvino(isinstance(op, ov.Loop))
        return self._onnx(isinstance(op, onnx.Loop))

    def _openvino(self, is_loop: bool) -> Numbered:
        parameters = [] if self.iteration is None else [self.iteration]
        parameters += [item.parameter for item in self.inputs]
        values = [self.goes_on] if is_loop and self.goes_on is not None else []
        values += [item.value for item in self.outputs]
        values += [item.result for item in self.states if item.result is not None]
        results = list(dict.fromkeys(values))
        externals: list[Value | None] = [self.trip, self.starts] if is_loop else []
        inputs: list[InputPort] = []
        for item in self.inputs:
            # The condition is mapped where it enters, as every writer of IR does.
            at = 1 if is_loop and self._is_condition(item) else len(externals)
            if at == len(externals):
                externals.append(item.outer)
            inputs.append(_numbered(item, at, parameters, results))
        inputs.sort(key=lambda port: port.external)
        outputs = [
            replace(item.port, result=results.index(item.value), external=at)
            for at, item in enumerate(self.outputs)
        ]
        iteration = None if self.iteration is None else 0
        condition = 0 if is_loop and self.goes_on is not None else None
        ports = PortMap(tuple(inputs), tuple(outputs), iteration, condition)
        shown = [[item.output] for item in self.outputs]
        return Numbered(tuple(externals), ports, parameters, results, shown)

    def _is_condition(self, item: Entering) -> bool:
        """True for the first state that holds the condition of the loop."""
        held = [
            other
            for other in self.states
            if other.outer is self.starts and other.result is self.goes_on
        ]
        return held[:1] == [item]

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
            shown.append(self.shown_by(item))
        for leaving in self.outputs:
            if not isinstance(leaving.port, LastValue):
                port = replace(leaving.port, result=len(results), external=len(shown))
                outputs.append(port)
                results.append(leaving.value)
                shown.append([leaving.output])
        first = 0 if is_loop else None
        ports = PortMap(tuple(inputs), tuple(outputs), first, first)
        return Numbered(tuple(externals), ports, parameters, results, shown)

    def shown_by(self, state: Entering) -> list[Value]:
        """The outputs that show the last value of a state; each output by one state only."""
        shown = [
            item.output
            for item in self.outputs
            if isinstance(item.port, LastValue) and item.value is state.result
        ]
        equal = [item for item in self.states if item.result is state.result]
        at = equal.index(state)
        return shown[at:] if state is equal[-1] else shown[at : at + 1]

    def _running(self) -> Value:
        if self.running is None:
            self.running = self.graph.add_parameter(
                "condition_in", _BOOLEAN, location=self.node.location
            )
        return self.running

    def _set_results(self, values: Sequence[Value]) -> None:
        """Leave exactly these results, in this order."""
        rewriter = Rewriter(self.graph)
        for result in list(self.graph.results):
            rewriter.erase_result(result)
        taken: set[str] = set()
        for value in values:
            name = self.names.get(value, f"{value.producer.name}/out")
            while name in taken:
                name += "_1"
            taken.add(name)
            self.graph.add_result(value, name, self.node.location)

    def drop_unread(self, op: Op) -> bool:
        """Leave out slices and invariants that the body does not read; True if there were any.

        One slice stays where nothing else counts the iterations of a node of `op`.
        """
        kept = [item for item in self.inputs if item.result is not None or item.parameter.is_used]
        counted = isinstance(op, ov.Loop | onnx.Loop)
        if not counted and not any(isinstance(item.port, Sliced | ScanInput) for item in kept):
            kept += self.slices[:1]
        changed = len(kept) != len(self.inputs)
        self.inputs = [item for item in self.inputs if item in kept]
        if isinstance(op, ov.Loop) and self.iteration is not None and not self.iteration.is_used:
            self.iteration, changed = None, True
        return changed


def _numbered(
    item: Entering, external: int, parameters: list[Value], results: list[Value]
) -> InputPort:
    at = parameters.index(item.parameter)
    if item.result is not None:
        return Carried(external, at, results.index(item.result))
    return replace(item.port, external=external, parameter=at)


def is_passed_on(item: Entering) -> bool:
    """True for a state that the body hands on as it came."""
    value = item.result
    while value is not None and value.producer.op.type == "Identity":
        value = value.producer.inputs[0]
    return value is item.parameter
