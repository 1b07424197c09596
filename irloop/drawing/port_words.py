"""Short descriptions of what feeds a body parameter, and of how an output is formed."""

from __future__ import annotations

from irloop.dialects.onnx import control_flow as onnx_flow
from irloop.dialects.openvino import control_flow as openvino_flow
from irloop.graph.describe import constant
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    ScanInput,
)
from irloop.graph.model import Node
from irloop.graph.op import Constant, Op

__all__ = ["fed", "given", "input_label"]

#: The roles of the first inputs of an operation with bodies, which no body reads.
_ROLES: dict[type[Op], tuple[str, ...]] = {
    onnx_flow.Loop: ("trip count", "condition"),
    openvino_flow.Loop: ("trip count", "condition"),
    onnx_flow.If: ("condition",),
    openvino_flow.If: ("condition",),
    onnx_flow.Scan8: ("sequence lengths",),
}


def input_label(node: Node, position: int) -> tuple[str, ...]:
    """Return the texts that label an input: its role or position, and the value of a constant."""
    roles = _ROLES.get(type(node.op), ())
    title = roles[position] if position < len(roles) else f"input {position}"
    value = node.inputs[position]
    op = None if value is None else value.producer.op
    return (title, constant(op)) if isinstance(op, Constant) else (title,)


def fed(port: InputPort | None, is_iteration: bool) -> str:
    """Describe in a few words how a body parameter gets its value, "state" for example.

    `port` is the port map's entry for the parameter, or None. `is_iteration` tells whether the
    parameter receives the iteration number.
    """
    if is_iteration:
        return "iteration number"
    if port is None:
        return "not connected"
    if isinstance(port, Carried):
        return "state"
    if isinstance(port, Invariant):
        return "invariant"
    if isinstance(port, ScanInput):
        return f"element, axis {port.axis}" + (", backwards" if port.reverse else "")
    return "slice" + _range(port.axis, port.start, port.end, port.stride, port.part_size)


def given(port: OutputPort, label: str) -> str:
    """Describe how a loop makes an output, such as "last value" or "stacked, axis 0".

    The text is empty for the output of a branch.
    """
    if isinstance(port, LastValue):
        return "last value" if label == "body" else ""
    if isinstance(port, Concatenated):
        return "joined" + _range(port.axis, port.start, port.end, port.stride, port.part_size)
    return f"stacked, axis {port.axis}" + (", backwards" if port.reverse else "")


def _range(axis: int, start: int, end: int, stride: int, part_size: int) -> str:
    text = f", axis {axis}"
    if stride < 0:
        text += ", backwards"
    if part_size != 1:
        text += f", {part_size} each"
    if abs(stride) != part_size:
        text += f", every {abs(stride)}"
    if (start, end) not in ((0, -1), (-1, 0)):
        text += f", {start}..{end}"
    return text
