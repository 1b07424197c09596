"""Queries about the states of OpenVINO loops: their sizes, and the inner loops that read them."""

from __future__ import annotations

from irloop.dialects.openvino.control_flow import Loop
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried
from irloop.graph.model import Node, Value
from irloop.graph.walk import has_op

__all__ = ["may_leave_its_initial_size", "reaches_a_loop"]


def may_leave_its_initial_size(node: Node, port: Carried) -> bool:
    """True if a state of the loop `node` has a known initial size, and may have another one later.

    `port` is the port of the state.
    """
    body, given = node.body(), node.inputs[port.external]
    if given is None or not shape_of(given).is_static:
        return False
    held = shape_of(body.graph.input(port.parameter))
    return not held.is_static or held != shape_of(body.graph.output(port.result))


def reaches_a_loop(value: Value) -> bool:
    """True if a Loop in the same graph, or in a body there, may depend on `value`.

    The Loop may read `value` itself, or a value that is computed from it.
    """
    pending, seen = [value], {value}
    while pending:
        for user, _ in pending.pop().uses:
            if isinstance(user.op, Loop) or any(has_op(b.graph, Loop) for b in user.bodies):
                return True
            fresh = [item for item in user.outputs if item not in seen]
            seen.update(fresh)
            pending += fresh
    return False
