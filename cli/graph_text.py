"""Describes graphs as text: port maps of bodies, values, attributes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.describe import attributes, constant
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    LastValue,
    OutputPort,
    ScanInput,
    Sliced,
)
from irloop.graph.meanings import TripCount
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import TensorType

__all__ = ["attributes", "iterations", "operand", "wires"]


def operand(value: Value | None) -> str:
    """Return the text for an input: the name of its value, or the value or type of a constant.

    An omitted input is shown as "-".
    """
    if value is None:
        return "-"
    op = value.producer.op
    return constant(op) if isinstance(op, Constant) else value.name


def iterations(node: Node) -> str:
    """Describe how often a loop runs, as in ``runs at most 5 times``, without running it.

    The text is empty for a node that is no loop, or if nothing is known.
    """
    body = next((body for body in node.bodies if body.label == "body"), None)
    if body is None:
        return ""
    has_trip_count = TripCount(0) in node.op.meanings
    for port in body.ports.inputs:
        if isinstance(port, (Sliced, ScanInput)):
            count = _slices(node, port)
            if count is not None and not has_trip_count:
                return f"runs {count} times, once for each slice of input {port.external}"
    if not has_trip_count:
        return ""
    limit = _constant(node.inputs[0]) if node.inputs else None
    condition = body.ports.condition
    until = "" if condition is None else f", while {_result(body, condition)} is true"
    if limit is None:
        named = node.inputs[0] if node.inputs else None
        at_most = "without a limit" if named is None else f"at most {operand(named)} times"
        return f"runs {at_most}{until}"
    return f"runs without a limit{until}" if limit < 0 else f"runs at most {limit} times{until}"


def wires(node: Node, body: Body) -> Iterator[tuple[str, str]]:
    """Describe every port map entry and back edge of `body`: yield (name, description)."""
    ports = body.ports
    for port in ports.inputs:
        name = body.graph.parameters[port.parameter].name
        yield name, _input(node, body, port)
    if ports.iteration is not None:
        yield body.graph.parameters[ports.iteration].name, "the iteration number, from 0"
    for out in ports.outputs:
        yield f"output {out.external}", _output(node, body, out)
    if ports.condition is not None:
        yield "condition", f"goes on while {_result(body, ports.condition)} is true"


def _input(node: Node, body: Body, port: InputPort) -> str:
    source = node.inputs[port.external] if port.external < len(node.inputs) else None
    outer = f"input {port.external} ({operand(source)})"
    if isinstance(port, Carried):
        return f"state: starts from {outer}, next = {_result(body, port.result)}"
    if isinstance(port, Sliced):
        text = f"slices of {outer} along axis {port.axis}"
        return text + _range(port.start, port.end, port.stride, port.part_size)
    if isinstance(port, ScanInput):
        text = f"elements of {outer} along axis {port.axis}"
        return f"{text}, reversed" if port.reverse else text
    return outer if body.label != "body" else f"{outer}, the same in every iteration"


def _output(node: Node, body: Body, port: OutputPort) -> str:
    result = _result(body, port.result)
    if isinstance(port, LastValue):
        return result if body.label != "body" else f"{result} after the last iteration"
    if isinstance(port, Concatenated):
        text = f"{result} of every iteration, joined along axis {port.axis}"
        return text + _range(port.start, port.end, port.stride, port.part_size)
    text = f"{result} of every iteration, stacked along a new axis {port.axis}"
    return f"{text}, reversed" if port.reverse else text


def _range(start: int, end: int, stride: int, part_size: int) -> str:
    text = ", reversed" if stride < 0 else ""
    if part_size != 1:
        text += f", {part_size} elements each"
    if abs(stride) != part_size:
        text += f", every {abs(stride)}"
    if (start, end) not in ((0, -1), (-1, 0)):
        text += f", from {start} to {end}"
    return text


def _result(body: Body, position: int) -> str:
    node = body.graph.results[position]
    value = node.inputs[0]
    made = node.name if value is None else operand(value)
    return f"result {position} ({node.name if made == node.name else f'{node.name} = {made}'})"


def _slices(node: Node, port: Sliced | ScanInput) -> int | None:
    value = node.inputs[port.external]
    if value is None or not isinstance(value.type, TensorType) or value.type.shape.dims is None:
        return None
    dims = value.type.shape.dims
    if not -len(dims) <= port.axis < len(dims):
        return None
    size = dims[port.axis]
    if not isinstance(size, int):
        return None
    if isinstance(port, ScanInput):
        return size
    whole = (port.start, port.end) in ((0, -1), (-1, 0)) and port.stride
    return size // abs(port.stride) if whole else None


def _constant(value: Value | None) -> int | None:
    op = None if value is None else value.producer.op
    if not isinstance(op, Constant) or op.tensor.count != 1 or not op.tensor.element.is_integer:
        return None
    return None if op.tensor.is_absent else int(op.tensor.numpy().reshape(-1)[0])
