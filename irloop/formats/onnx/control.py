"""Converts between a file's Loop, Scan and If nodes and port maps, in both directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from irloop.dialects.onnx.control_flow import If, Loop, Scan, Scan8
from irloop.errors import ReadError
from irloop.formats.unwritable import unwritable
from irloop.graph.loops import (
    Carried,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    ScanInput,
    ScanOutput,
)
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.types import TensorType

__all__ = ["LABELS", "FoldedBody", "FoldedNode", "ReadBody", "Wiring", "fold", "wire"]

#: The label of a body, keyed by the name of its attribute.
LABELS: dict[type[Op], dict[str, str]] = {
    Loop: {"body": "body"},
    Scan: {"body": "body"},
    Scan8: {"body": "body"},
    If: {"then_branch": "then", "else_branch": "else"},
}

_NO_ATTRIBUTES: Mapping[str, Any] = MappingProxyType({})


class ReadBody(Record):
    """A body that was read; `captures` are the names of its last parameters."""

    label: str
    graph: Graph
    captures: tuple[str, ...]

    @property
    def n_own(self) -> int:
        """How many inputs the body itself declares in the file; captured values are not counted."""
        return len(self.graph.parameters) - len(self.captures)


@dataclass(slots=True, eq=False, repr=False)
class Wiring:
    """The port maps of a node's bodies, without captures.

    `n_inputs` is the number of inputs before the captures.
    """

    n_inputs: int
    n_outputs: int
    inputs: list[InputPort] = field(default_factory=list)
    outputs: list[OutputPort] = field(default_factory=list)
    iteration: int | None = None
    condition: int | None = None

    def ports(self, captures: Sequence[tuple[int, int]]) -> PortMap:
        """Return the port map of a body: the ports of this wiring, then one per capture.

        A capture is an outer value that the body reads; its port is an invariant. `captures` holds
        a pair for each: (number of the node's input, number of the body's parameter).
        """
        invariants = tuple(Invariant(external, parameter) for external, parameter in captures)
        return PortMap(
            (*self.inputs, *invariants), tuple(self.outputs), self.iteration, self.condition
        )


def wire(
    cls: type[Op] | None,
    bodies: Sequence[ReadBody],
    inputs: Sequence[Value | None],
    n_outputs: int,
    attributes: dict[str, Any],
    where: str,
) -> Wiring:
    """Make the port maps of the bodies of a node.

    Attributes that the port maps represent, such as the axes of a Scan, are removed from
    `attributes`. Operations other than Loop, Scan and If get port maps without connections.

    Raises:
        ReadError: when inputs, outputs, body and attributes do not match.
    """
    if cls is Loop:
        return _wire_loop(bodies[0], len(inputs), n_outputs, where)
    if cls is Scan or cls is Scan8:
        return _wire_scan(cls, bodies[0], inputs, n_outputs, attributes, where)
    if cls is If:
        return _wire_if(bodies, len(inputs), n_outputs, where)
    return Wiring(len(inputs), n_outputs)


def _wire_loop(body: ReadBody, n_inputs: int, n_outputs: int, where: str) -> Wiring:
    states = max(n_inputs - 2, 0)
    scans = len(body.graph.results) - 1 - states
    _require(body.n_own == 2 + states, where, "inputs of the body", 2 + states, body)
    _require(scans >= 0, where, "outputs of the body", f"at least {1 + states}", body)
    _require_outputs(n_outputs, states + scans, where)
    return Wiring(
        2 + states,
        states + scans,
        [Carried(1, 1, 0), *(Carried(2 + k, 2 + k, 1 + k) for k in range(states))],
        [
            *(LastValue(1 + k, k) for k in range(states)),
            *(ScanOutput(1 + states + k, states + k) for k in range(scans)),
        ],
        iteration=0,
        condition=0,
    )


def _wire_scan(
    cls: type[Op],
    body: ReadBody,
    inputs: Sequence[Value | None],
    n_outputs: int,
    attributes: dict[str, Any],
    where: str,
) -> Wiring:
    first = cls.leading_inputs
    scanned = attributes.pop("num_scan_inputs", None)
    n_inputs = max(len(inputs), first)
    states = n_inputs - first - scanned if isinstance(scanned, int) else -1
    if not isinstance(scanned, int) or scanned < 1 or states < 0:
        raise ReadError(
            f"{where}: num_scan_inputs is not between 1 and the number of states and scan inputs",
            found=str(scanned),
        )
    _require(body.n_own == states + scanned, where, "inputs of the body", states + scanned, body)
    scans = len(body.graph.results) - states
    _require(scans >= 0, where, "outputs of the body", f"at least {states}", body)
    _require_outputs(n_outputs, states + scans, where)
    directions = "directions" if cls is Scan8 else "scan_input_directions"
    reverse_in = _numbers(attributes, directions, scanned, where)
    reverse_out = _numbers(attributes, "scan_output_directions", scans, where)
    axes_in = _numbers(attributes, "scan_input_axes", scanned, where)
    axes_out = _numbers(attributes, "scan_output_axes", scans, where)
    wiring = Wiring(n_inputs, states + scans)
    wiring.inputs += [Carried(first + k, k, k) for k in range(states)]
    wiring.outputs += [LastValue(k, k) for k in range(states)]
    for k in range(scanned):
        index = states + k
        outer = first + index
        axis = _normal(axes_in[k], inputs[outer] if outer < len(inputs) else None, 0)
        wiring.inputs.append(ScanInput(outer, index, axis, bool(reverse_in[k])))
    for k in range(scans):
        index = states + k
        axis = _normal(axes_out[k], body.graph.results[index].inputs[0], 1)
        wiring.outputs.append(ScanOutput(index, index, axis, bool(reverse_out[k])))
    return wiring


def _wire_if(bodies: Sequence[ReadBody], n_inputs: int, n_outputs: int, where: str) -> Wiring:
    counts = [len(body.graph.results) for body in bodies]
    if counts[0] != counts[1]:
        raise ReadError(
            f"{where}: the branches have different numbers of outputs",
            expected="the same number in both",
            found=f"then {counts[0]}, else {counts[1]}",
        )
    _require_outputs(n_outputs, counts[0], where)
    outputs: list[OutputPort] = [LastValue(k, k) for k in range(counts[0])]
    return Wiring(max(n_inputs, 1), counts[0], outputs=outputs)


def _require(holds: bool, where: str, what: str, expected: object, body: ReadBody) -> None:
    if not holds:
        raise ReadError(
            f"{where}: the number of {what} does not match the node",
            expected=str(expected),
            found=f"{body.n_own} inputs and {len(body.graph.results)} outputs of the body",
        )


def _require_outputs(found: int, expected: int, where: str) -> None:
    if found > expected:
        raise ReadError(
            f"{where} has more outputs than its body",
            expected=f"{expected} outputs",
            found=f"{found} outputs",
        )


def _numbers(attributes: dict[str, Any], name: str, count: int, where: str) -> list[int]:
    values = attributes.pop(name, None)
    if values is None:
        return [0] * count
    if not isinstance(values, list) or len(values) != count:
        raise ReadError(
            f"{where}: attribute {name!r} has the wrong length",
            expected=f"a list of length {count}",
            found=str(values)[:80],
        )
    if not all(isinstance(item, int) for item in values):
        raise ReadError(f"{where}: attribute {name!r} is not a list of integers")
    return values


def _normal(axis: int, value: Value | None, more: int) -> int:
    type = None if value is None else value.type
    if axis >= 0 or not isinstance(type, TensorType) or type.shape.rank is None:
        return axis
    normal = axis + type.shape.rank + more
    return normal if normal >= 0 else axis


class FoldedBody(Record):
    """A body as it is written to a file: its inputs, results and captured values.

    `parameters` has one item for each input of the ONNX body. The item is None if the body in the
    graph has no parameter for this input, because it does not read it.
    """

    attribute: str
    body: Body
    parameters: list[Node | None]
    results: list[Node]
    #: Outer values, keyed by the parameter that receives them.
    captures: dict[Node, Value]


class FoldedNode(NamedTuple):
    """A node as the file will contain it; an output that nothing reads is None."""

    inputs: Sequence[Value | None]
    outputs: Sequence[Value | None]
    bodies: Sequence[FoldedBody] = ()
    attributes: Mapping[str, Any] = _NO_ATTRIBUTES


def fold(node: Node) -> FoldedNode:
    """Turn explicit captures and port maps back into inputs and attributes of the file.

    Raises:
        WriteError: for a port that the operation cannot have in ONNX.
    """
    if not node.bodies:
        return FoldedNode(node.inputs, node.outputs)
    if isinstance(node.op, Loop):
        return _fold_loop(node)
    if isinstance(node.op, (Scan, Scan8)):
        return _fold_scan(node)
    labels = {label: name for name, label in LABELS.get(type(node.op), {}).items()}
    captured: set[int] = set()
    bodies = []
    for body in node.bodies:
        ports = [port for port in body.ports.inputs if isinstance(port, Invariant)]
        captured.update(port.external for port in ports)
        inner = {port.parameter for port in ports}
        own = [item for index, item in enumerate(body.graph.parameters) if index not in inner]
        if isinstance(node.op, If) and own:
            raise unwritable(node, f"the {body.label} branch has inputs that are not captured")
        results = _branch_results(node, body) if isinstance(node.op, If) else body.graph.results
        bodies.append(
            FoldedBody(
                labels.get(body.label, body.label),
                body,
                [*own],
                list(results),
                _captures(node, body),
            )
        )
    if isinstance(node.op, If):
        # A branch may also capture its own condition.
        captured.discard(0)
    inputs = [value for index, value in enumerate(node.inputs) if index not in captured]
    return FoldedNode(inputs, list(node.outputs), bodies)


def _branch_results(node: Node, body: Body) -> list[Node]:
    by_output = {port.external: port.result for port in body.ports.outputs}
    if sorted(by_output) != list(range(len(node.outputs))):
        raise unwritable(node, f"the {body.label} branch does not return every output")
    return [body.graph.results[by_output[index]] for index in range(len(node.outputs))]


def _captures(node: Node, body: Body) -> dict[Node, Value]:
    captures = {}
    for port in body.ports.inputs:
        if not isinstance(port, Invariant):
            continue
        value = node.inputs[port.external]
        if value is None:
            raise unwritable(node, f"input {port.external} is captured and omitted")
        captures[body.graph.parameters[port.parameter]] = value
    return captures


def _fold_loop(node: Node) -> FoldedNode:
    (body,) = node.bodies
    ports, graph = body.ports, body.graph
    if ports.condition is None:
        raise unwritable(node, "its body returns no condition")
    carried = sorted(ports.carried, key=lambda port: port.external)
    condition = next((port for port in carried if port.external == 1), None)
    states = [port for port in carried if port.external > 1]
    parameters: list[Node | None] = [
        None if ports.iteration is None else graph.parameters[ports.iteration],
        None if condition is None else graph.parameters[condition.parameter],
        *(graph.parameters[port.parameter] for port in states),
    ]
    inputs: list[Value | None] = [
        node.inputs[0] if node.inputs else None,
        node.inputs[1] if len(node.inputs) > 1 else None,
        *(node.inputs[port.external] for port in states),
    ]
    return _fold_states(node, inputs, parameters, states, [graph.results[ports.condition]])


def _fold_scan(node: Node) -> FoldedNode:
    (body,) = node.bodies
    first = node.op.leading_inputs
    states = sorted(body.ports.carried, key=lambda port: port.external)
    scanned = sorted(
        (port for port in body.ports.inputs if isinstance(port, ScanInput)),
        key=lambda port: port.external,
    )
    wires: list[Carried | ScanInput] = [*states, *scanned]
    inputs = [*node.inputs[:first], *(node.inputs[port.external] for port in wires)]
    parameters: list[Node | None] = [body.graph.parameters[port.parameter] for port in wires]
    folded = _fold_states(node, inputs, parameters, states, [])
    outputs = [port for port in _ordered(node, body) if isinstance(port, ScanOutput)]
    lists = {
        "scan_input_axes": [port.axis for port in scanned],
        "scan_input_directions": [int(port.reverse) for port in scanned],
        "scan_output_axes": [port.axis for port in outputs],
        "scan_output_directions": [int(port.reverse) for port in outputs],
    }
    if first:
        lists["directions"] = lists.pop("scan_input_directions")
    given = {name: values for name, values in lists.items() if any(values)}
    return folded._replace(attributes={"num_scan_inputs": len(scanned), **given})


def _fold_states(
    node: Node,
    inputs: list[Value | None],
    parameters: list[Node | None],
    states: list[Carried],
    results: list[Node],
) -> FoldedNode:
    (body,) = node.bodies
    outputs: list[Value | None] = []
    ports = _ordered(node, body)
    last = {port.result: port for port in ports if isinstance(port, LastValue)}
    for state in states:
        results.append(body.graph.results[state.result])
        found = last.pop(state.result, None)
        outputs.append(None if found is None else node.outputs[found.external])
    if last:
        raise unwritable(
            node, f"output {next(iter(last.values())).external} does not return a state"
        )
    for port in ports:
        if isinstance(port, ScanOutput):
            results.append(body.graph.results[port.result])
            outputs.append(node.outputs[port.external])
    captures = _captures(node, body)
    if len(captures) + sum(item is not None for item in parameters) != len(body.graph.parameters):
        raise unwritable(
            node, "a parameter of its body is connected in a way that ONNX cannot express"
        )
    return FoldedNode(inputs, outputs, [FoldedBody("body", body, parameters, results, captures)])


def _ordered(node: Node, body: Body) -> list[OutputPort]:
    ports = sorted(body.ports.outputs, key=lambda port: port.external)
    lasts = [port.result for port in ports if isinstance(port, LastValue)]
    kinds = all(isinstance(port, LastValue | ScanOutput) for port in ports)
    if not kinds or len(set(lasts)) != len(lasts) or len(ports) != len(node.outputs):
        raise unwritable(node, "an output is connected in a way that ONNX cannot express")
    loop = isinstance(node.op, Loop)
    if loop and any(
        isinstance(port, ScanOutput) and (port.axis, port.reverse) != (0, False) for port in ports
    ):
        raise unwritable(node, "an ONNX Loop stacks outputs only along axis 0, forwards")
    return ports
