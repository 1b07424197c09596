"""What hazards, and the passes that write around them, ask about loops and memory."""

from __future__ import annotations

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Invariant
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant

__all__ = [
    "VIEWS",
    "is_invariant",
    "is_loop",
    "may_not_run",
    "number_of",
    "owner_of",
    "same_memory",
]

#: Operations that may give the memory of their input as their output.
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Convert", "Identity"})


def is_loop(node: Node) -> bool:
    """True for an OpenVINO Loop or TensorIterator."""
    return isinstance(node.op, ov.Loop | ov.TensorIterator)


def owner_of(node: Node) -> tuple[Node, Body] | None:
    """The OpenVINO loop whose body holds `node`, and that body; None outside of loops."""
    owner = None if node.graph is None else node.graph.owner
    if owner is None or not is_loop(owner):
        return None
    return owner, next(body for body in owner.bodies if body.graph is node.graph)


def same_memory(value: Value) -> Value:
    """The value whose memory `value` may share, seen through reshapes and the like."""
    while value.producer.op.type in VIEWS and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value


def number_of(value: Value | None) -> int | None:
    """The number in a constant of one element; None for anything else."""
    if value is None or not isinstance(value.producer.op, Constant):
        return None
    tensor = value.producer.op.tensor
    if tensor.count != 1:
        return None
    signed = tensor.element.is_integer and str(tensor.element).startswith("i")
    return int.from_bytes(bytes(tensor.raw()), "little", signed=signed)


def may_not_run(node: Node) -> bool:
    """True for a Loop of which it is not certain that the first iteration runs."""
    if not isinstance(node.op, ov.Loop):
        return False
    return number_of(node.inputs[0]) in (None, 0) or number_of(node.inputs[1]) in (None, 0)


def is_invariant(body: Body, value: Value) -> bool:
    """True for a body parameter that holds the same outer value in every iteration."""
    for port in body.ports.inputs:
        if isinstance(port, Invariant) and body.graph.inputs[port.parameter] is value:
            return True
    return False
