"""Pairs corresponding values of two models, and runs models with a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from irloop.comparison.causes.gathered import gathered_slices
from irloop.comparison.congruence import computed_alike, known, owners_alike
from irloop.comparison.matching import input_positions, output_positions
from irloop.comparison.runs import limits_of, reason_of
from irloop.dialects.classes import classes_of
from irloop.errors import IrloopError, UsageError
from irloop.execution.session import Session
from irloop.execution.trace import TraceEvent, Tracer
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.walk import all_graphs, all_nodes, owners

__all__ = ["Pairs", "inputs_of", "traced"]

#: How often pairs are searched without names. Each search may find operands for the next one.
ROUNDS = 8

_IFS = classes_of("If")
_GATHERS, _TRANSPOSES = classes_of("Gather"), classes_of("Transpose")


class Pairs:
    """The corresponding values of two models.

    Values are paired by the positions of inputs and outputs, by names that are unique in both
    models, and by the order of nodes with equal names. In corresponding loops, they are also paired
    by the port maps and the names in the bodies.
    """

    def __init__(self, first: Model, second: Model) -> None:
        left, right = _names(first), _names(second)
        self.of_first: dict[Value, str] = {}
        self.of_second: dict[Value, str] = {}
        self.first_by_name: dict[str, Value] = {}
        self._new: list[Value] = []
        self._graphs = first.graph, second.graph
        #: The corresponding nodes with bodies, in the order in which their bodies were paired.
        self._entered: list[tuple[Node, Node]] = []
        self._owners = (_owners(first), _owners(second))
        inputs = second.graph.inputs
        for at, place in enumerate(input_positions(first.graph, second.graph)):
            if place is not None:
                self._add(f"input {at}", first.graph.input(at), inputs[place])
        for name, value in left.items():
            if name in right:
                self._add(name, value, right[name])
        self._same_format = first.dialect == second.dialect
        self._pair_in_order(first.graph, second.graph)
        self._pair_results(first, second)
        entered: set[Node] = set()
        pending = [*self._named_loops()]
        rounds = 0
        while True:
            new, self._new = self._new, []
            pending += self._loops_of(new)
            pending = [pair for pair in pending if pair[1] not in entered]
            if not pending and rounds < ROUNDS:
                # Names show no more pairs.
                rounds += 1
                pending = [pair for pair in self._pairs_without_names() if pair[1] not in entered]
            if not pending and not self._new:
                break
            if not pending:
                continue
            # Values that an inner loop reads are paired only once the outer loop has been entered.
            loops = min(pending, key=lambda pair: len([*owners(pair[1])]))
            entered.add(loops[1])
            self._entered.append(loops)
            self._enter(*loops)

    def _add(self, name: str, value: Value, other: Value) -> None:
        if value not in self.of_first and other not in self.of_second:
            while name in self.first_by_name:
                # Loops in different bodies may have the same name.
                name += "+"
            self.of_first[value] = name
            self.of_second[other] = name
            self.first_by_name[name] = value
            self._new.append(other)

    def _pair_in_order(self, first: Graph, second: Graph) -> None:
        """Pair the outputs of nodes that have the same position in two graphs.

        This is done only if the models have the same format and the graphs list the same node names
        in the same order. A name may occur more than once.
        """
        left, right = [*first.parameters, *first.nodes], [*second.parameters, *second.nodes]
        if not self._same_format or [item.name for item in left] != [item.name for item in right]:
            return
        for node, other in zip(left, right, strict=True):
            if len(node.outputs) == len(other.outputs):
                for value, twin in zip(node.outputs, other.outputs, strict=True):
                    self._add(f"{node.name}.{value.index}", value, twin)

    def _pair_results(self, first: Model, second: Model) -> None:
        """Pair the values that corresponding outputs return, whatever their names."""
        results = second.graph.results
        for index, place in enumerate(output_positions(first.graph, second.graph)):
            if place is None:
                continue
            left, right = first.graph.results[index].inputs[0], results[place].inputs[0]
            if left is not None and right is not None:
                self._add(f"output {index}", left, right)

    def _enter(self, first: Node, second: Node) -> None:
        """Pair the outputs of two corresponding loops or Ifs, and the values of their bodies."""
        alike = type(first.op) is type(second.op)
        if alike and len(first.outputs) == len(second.outputs):
            for at, value in enumerate(first.outputs):
                self._add(f"{first.name}.{at}", value, second.outputs[at])
        for body in first.bodies:
            other = next((item for item in second.bodies if item.label == body.label), None)
            if other is None:
                continue
            mine, fed = _fed(first, body), _fed(second, other)
            slices: tuple[dict[Value, Value], dict[Value, Value]] = ({}, {})
            if not alike:
                slices = _slices(first, body), _slices(second, other)
            if body.ports.iteration is not None and other.ports.iteration is not None:
                numbers = (
                    body.graph.input(body.ports.iteration),
                    other.graph.input(other.ports.iteration),
                )
                self._add(f"{first.name}/{body.label}/iteration", *numbers)
            # A name that occurs in several bodies is unambiguous within two bodies that correspond.
            left, right = _names_inside(body.graph), _names_inside(other.graph)
            for name, value in left.items():
                if name in right:
                    self._add(f"{first.name}/{body.label}/{name}", value, right[name])
            self._pair_in_order(body.graph, other.graph)
            by_name = {known(self.of_first, outer): inner for outer, inner in mine.items()}
            for outer, parameter in fed.items():
                name = known(self.of_second, outer)
                inner = by_name.get(name) if name else None
                if inner is not None:
                    self._enter_by(f"{first.name}/{body.label}/{name}", inner, parameter, slices)
            rest = [
                [value for value in item.inputs if value.is_used and value not in known]
                for item, known in ((body.graph, self.of_first), (other.graph, self.of_second))
            ]
            rest[0] = [value for value in rest[0] if slices[0].get(value) not in self.of_first]
            rest[1] = [value for value in rest[1] if slices[1].get(value) not in self.of_second]
            if len(rest[0]) == len(rest[1]) == 1:
                name = f"{first.name}/{body.label}/last parameter"
                self._enter_by(name, rest[0][0], rest[1][0], slices)

    def _enter_by(
        self,
        name: str,
        first: Value,
        second: Value,
        slices: tuple[dict[Value, Value], dict[Value, Value]],
    ) -> None:
        """Pair two body parameters of corresponding loops under `name`.

        The body of an ONNX Loop may receive a whole tensor and gather a slice of it in each
        iteration, where another loop has the slice as a parameter. If only one of the two
        parameters is gathered from, its slice is paired instead of it. `slices` maps, for each
        model, such a parameter to its slice.
        """
        if _is_gathered(first) != _is_gathered(second):
            first, second = slices[0].get(first, first), slices[1].get(second, second)
        self._add(name, first, second)

    def _pairs_without_names(self) -> Iterator[tuple[Node, Node]]:
        """Pair more values without using names; yield loops and Ifs that now correspond.

        Two values are paired if the same operation computes them from operands that are already
        paired. Each yielded pair is a node of the first model and a node of the second, with paired
        values in their bodies. Nodes whose bodies were compared before are left out.
        """
        graphs = [self._graphs]
        for first, second in self._entered:
            others = {body.label: body.graph for body in second.bodies}
            graphs += [
                (body.graph, others[body.label]) for body in first.bodies if body.label in others
            ]
        for pair in graphs:
            for value, other in [*computed_alike(pair, (self.of_first, self.of_second))]:
                self._add(f"computed {value.name}", value, other)
        entered = {node for pair in self._entered for node in pair}
        pairs = {value: self.first_by_name[name] for value, name in self.of_second.items()}
        for alike in owners_alike(pairs):
            if entered.isdisjoint(alike) and isinstance(alike[0].op, _IFS) == isinstance(
                alike[1].op, _IFS
            ):
                yield alike

    def loops(self) -> Iterable[tuple[Node, Node]]:
        """Yield pairs of corresponding loops and Ifs, one node of each model.

        Two nodes correspond, for example, if they have the same name, or if an output of one
        corresponds to an output of the other.
        """
        yield from self._entered
        yield from self._named_loops()
        yield from self._loops_of(self.of_second)

    def _named_loops(self) -> Iterator[tuple[Node, Node]]:
        left, right = self._owners
        yield from ((left[name], right[name]) for name in left if name in right)

    def _loops_of(self, values: Iterable[Value]) -> Iterator[tuple[Node, Node]]:
        """Yield the pairs of corresponding loops whose outputs are among the values.

        `values` are values of the second model that have a counterpart in the first model.
        """
        for value in values:
            nodes = _loop_of(self.first_by_name[self.of_second[value]]), _loop_of(value)
            if nodes[0] is not None and nodes[1] is not None:
                yield nodes[0], nodes[1]


def _loop_of(value: Value) -> Node | None:
    """Return the loop or If of which `value` is an output, or a transposed output.

    The result is None if `value` is computed by another operation.
    """
    node = value.producer
    if isinstance(node.op, _TRANSPOSES) and node.inputs[0] is not None:
        node = node.inputs[0].producer
    return node if node.bodies else None


def _fed(node: Node, body: Body) -> dict[Value, Value]:
    """Map each outer value to the body parameter that it feeds.

    Outer values that feed several parameters are left out.
    """
    parameters: dict[Value, list[Value]] = {}
    for port in body.ports.inputs:
        outer = node.inputs[port.external]
        if outer is not None:
            parameters.setdefault(outer, []).append(body.graph.input(port.parameter))
    return {outer: inner[0] for outer, inner in parameters.items() if len(inner) == 1}


def _slices(node: Node, body: Body) -> dict[Value, Value]:
    """Map body parameters of an ONNX Loop to the slices that the body gathers from them.

    An entry maps a parameter, which is the same tensor in all iterations, to the output of a
    Gather. This Gather reads the parameter at an index computed from the iteration number.
    """
    inputs = body.graph.inputs
    return {inputs[at]: item.value for at, item in gathered_slices(node, body).items()}


def _is_gathered(value: Value) -> bool:
    return any(isinstance(use.op, _GATHERS) for use, _ in value.uses)


def _owners(model: Model) -> dict[str, Node]:
    """The nodes with bodies, keyed by name; names that occur twice are left out."""
    named: dict[str, list[Node]] = {}
    for node in all_nodes(model.graph):
        if node.bodies:
            named.setdefault(node.name, []).append(node)
    return {name: nodes[0] for name, nodes in named.items() if len(nodes) == 1}


def _names(model: Model) -> dict[str, Value]:
    """The values of a model and its bodies, keyed by name; names that occur twice are left out."""
    values = [value for node in all_nodes(model.graph) for value in node.outputs]
    values += [value for graph in all_graphs(model.graph) for value in graph.inputs]
    return _unique_names(values)


def _names_inside(graph: Graph) -> dict[str, Value]:
    """The values of one body, without inner bodies, keyed by name.

    Names that occur twice are left out.
    """
    return _unique_names(
        [*graph.inputs, *(value for node in graph.nodes for value in node.outputs)]
    )


def _unique_names(values: Sequence[Value]) -> dict[str, Value]:
    """Map each name that identifies one of `values` to that value.

    These are the tensor names and, for a node with one output, the name of the node. A name that
    occurs twice is left out. If a tensor and a node have the same name, the tensor is found. Loops
    and branches are found by their node name only if their output has no tensor name.
    """
    by_tensor: dict[str, list[Value]] = {}
    by_node: dict[str, list[Value]] = {}
    for value in values:
        for name in value.names:
            by_tensor.setdefault(name, []).append(value)
        # The two formats order the outputs of a loop or an LSTM differently, and one format may
        # have further outputs that nothing reads. Node names therefore do not identify these
        # outputs.
        if len(value.producer.outputs) == 1 and not (value.producer.bodies and value.names):
            by_node.setdefault(value.producer.name, []).append(value)
    unique = {name: items[0] for name, items in by_tensor.items() if len(items) == 1}
    for name, items in by_node.items():
        if len(items) == 1 and name not in by_tensor:
            unique[name] = items[0]
    return unique


def traced(
    model: Model,
    arrays: Sequence[Any],
    trace: Tracer,
    seconds: float,
    widen: bool | None,
    *,
    iterations: int | None = None,
    failures: list[tuple[Node, str]] | None = None,
) -> dict[Node, set[int]]:
    """Run a model with a tracer, and return the trip counts of its loops.

    The result maps each loop that ran to the set of its trip counts. It is empty if the run fails.
    `seconds` limits the time of the run, and `iterations` limits the iterations of each loop. For
    `widen`, see `Session`.

    If `failures` is a list, the node that failed and the reason are appended to it.

    Raises:
        UsageError: when `failures` is a list and the inputs do not match the model.
    """
    session = Session(model, hoist=False, widen=widen)
    limits = limits_of(seconds)
    if iterations is not None:
        limits = replace(limits, max_iterations=iterations)
    try:
        session.run(arrays, limits=limits, trace=trace)
    except IrloopError as error:
        # A run that fails before its end still leaves a trace.
        if failures is None:
            return {}
        if session.failed is not None:
            failures.append((session.failed[0], reason_of(error)))
        elif isinstance(error, UsageError):
            # The inputs do not match the model.
            raise
        return {}
    return session.counts


def inputs_of(event: TraceEvent) -> list[tuple[Value, Any]]:
    """The connected inputs of a node with their values."""
    pairs = zip(event.node.read_inputs, event.inputs, strict=False)
    return [(value, made) for value, made in pairs if value is not None]
