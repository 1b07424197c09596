"""Writes port maps and back edges as XML, in canonical form.

The n input ports are numbered from 0 to n-1, and the output ports from n on. Each entry names one
of these ports, and every external input of a TensorIterator has exactly one entry. OpenVINO reads
port maps in three different ways; all of them give the same result for this form. The entries of
the iteration number and of the condition come last, and name no port.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from irloop.dialects.loops import from_front
from irloop.dialects.openvino.control_flow import If, Loop, TensorIterator
from irloop.errors import WriteError
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    Sliced,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.types import TensorType
from irloop.graph.walk import node_path

__all__ = ["Wires", "wires_of"]

_PREFIXES = {"body": "", "then": "then_", "else": "else_"}


@dataclass(slots=True)
class Wires:
    """How a node with bodies is written: its ports, and the lines of its sections."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    #: The lines of the sections, in the order of a layer's sections and without indentation.
    lines: list[str] = field(default_factory=list)
    #: For each branch, the results for which a second Result is written, because a Result of a
    #: branch can go to one output only.
    doubled: dict[str, list[int]] = field(default_factory=dict)


def wires_of(node: Node, inputs: tuple[Value, ...]) -> Wires:
    """Plan how a node with bodies is written: its ports, port maps and back edges.

    `inputs` are the values of its connected inputs.

    Raises:
        WriteError: when an IR cannot represent the connections between the node and its bodies.
    """
    return _Planner(node, inputs).plan()


class _Planner:
    def __init__(self, node: Node, inputs: tuple[Value, ...]) -> None:
        self.node = node
        self.given = inputs
        self.bodies = sorted(node.bodies, key=lambda body: list(_PREFIXES).index(body.label))

    def plan(self) -> Wires:
        for body in self.bodies:
            if body.label not in _PREFIXES:
                raise self._error(
                    f"it has a body labelled {body.label!r}", "'body', 'then' or 'else'"
                )
        ports = self._input_ports()
        inputs = tuple(self.given[external] for external, _ in ports)
        outputs = self._kept_outputs()
        wires = Wires(inputs, tuple(self.node.outputs[old] for old in outputs))
        numbers = {port: number for number, port in enumerate(ports)}
        places = {old: len(ports) + new for new, old in enumerate(outputs)}
        # OpenVINO's writer puts the maps of the else branch first.
        for body in reversed(self.bodies):
            wires.lines.extend(self._section(body, numbers, places, wires))
        for body in self.bodies:
            if body.label == "body":
                wires.lines.extend(self._back_edges(body))
        return wires

    def _input_ports(self) -> list[tuple[int, int]]:
        """Return the layer's input ports as pairs (input, number of its earlier ports).

        An input is given by its position. A port can feed only one Parameter of a body. If input 2
        feeds two Parameters of a body, it has the ports (2, 0) and (2, 1). Such further ports
        follow the first ports of all inputs.
        """
        uses: dict[tuple[int, int], None] = {}
        for body in self.bodies:
            count: dict[int, int] = {}
            for port in body.ports.inputs:
                before = count.get(port.external, 0)
                count[port.external] = before + 1
                uses[port.external, before] = None
        is_loop = isinstance(self.node.op, Loop | TensorIterator)
        always = self.node.op.leading_inputs if is_loop else len(self.given)
        first = [
            (external, 0)
            for external in range(len(self.given))
            if external < always or (external, 0) in uses
        ]
        # A port feeds one Parameter of a body, so a second one needs its own port.
        return first + sorted(use for use in uses if use[1] > 0)

    def _kept_outputs(self) -> list[int]:
        kept = []
        for value in self.node.outputs:
            mapped = [any(o.external == value.index for o in b.ports.outputs) for b in self.bodies]
            if all(mapped):
                kept.append(value.index)
            elif value.is_used:
                raise self._error(
                    f"output {value.index} is used, but not every body returns it",
                    "an entry for it in every port map",
                )
        return kept

    def _section(
        self,
        body: Body,
        numbers: dict[tuple[int, int], int],
        places: dict[int, int],
        wires: Wires,
    ) -> Iterator[str]:
        ports = body.ports
        tag = f"{_PREFIXES[body.label]}port_map"
        yield f"<{tag}>"
        count: dict[int, int] = {}
        for port in ports.inputs:
            before = count.get(port.external, 0)
            count[port.external] = before + 1
            number = numbers[port.external, before]
            yield f"\t<input{_ids(number, port.parameter)}{self._input_range(port)}/>"
        if ports.iteration is not None:
            yield f'\t<input{_ids(-1, ports.iteration)} purpose="current_iteration"/>'
        first_result = len(body.graph.parameters) + len(body.graph)
        listed: set[int] = set()
        for out in ports.outputs:
            if out.external not in places:
                continue
            layer = first_result + out.result
            if body.label != "body" and out.result in listed:
                doubled = wires.doubled.setdefault(body.label, [])
                layer = first_result + len(body.graph.results) + len(doubled)
                doubled.append(out.result)
            listed.add(out.result)
            yield f"\t<output{_ids(places[out.external], layer)}{self._output_range(body, out)}/>"
        if ports.condition is not None:
            condition = first_result + ports.condition
            yield f'\t<output{_ids(-1, condition)} purpose="execution_condition"/>'
        elif isinstance(self.node.op, Loop):
            raise self._error("the body returns no condition", "a boolean body result")
        yield f"</{tag}>"

    def _input_range(self, port: InputPort) -> str:
        if isinstance(port, Invariant | Carried):
            return ""
        if not isinstance(port, Sliced) or isinstance(self.node.op, If):
            raise self._error(
                f"an IR has no input of the kind {type(port).__name__}",
                "an invariant, a state or slices",
            )
        return _range(from_front(port, _rank(self.given[port.external])))

    def _output_range(self, body: Body, port: OutputPort) -> str:
        if isinstance(port, LastValue):
            return ""
        if not isinstance(port, Concatenated) or isinstance(self.node.op, If):
            raise self._error(
                f"an IR has no output of the kind {type(port).__name__}",
                "a last value or concatenated values",
            )
        return _range(from_front(port, _rank(body.graph.results[port.result].inputs[0])))

    def _back_edges(self, body: Body) -> Iterator[str]:
        carried = body.ports.carried
        if not carried:
            return
        first_result = len(body.graph.parameters) + len(body.graph)
        yield "<back_edges>"
        for port in carried:
            source = first_result + port.result
            yield f'\t<edge from-layer="{source}" to-layer="{port.parameter}"/>'
        yield "</back_edges>"

    def _error(self, what: str, expected: str) -> WriteError:
        node = self.node
        return WriteError(
            f"{node.op.label} {node_path(node)!r} cannot be written: {what}",
            location=node.location,
            expected=expected,
        )


def _ids(external: int, internal: int) -> str:
    return f' external_port_id="{external}" internal_layer_id="{internal}"'


def _rank(value: Value | None) -> int | None:
    type = None if value is None else value.type
    return type.shape.rank if isinstance(type, TensorType) else None


def _range(port: Sliced | Concatenated) -> str:
    return (
        f' axis="{port.axis}" start="{port.start}" end="{port.end}" '
        f'stride="{port.stride}" part_size="{port.part_size}"'
    )
