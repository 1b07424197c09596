"""Finds values of bodies that OpenVINO removes because no output of the model depends on them."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.slicing import Concat
from irloop.dialects.openvino.state import Assign, Assign6
from irloop.graph.builder import shape_of
from irloop.graph.loops import Carried
from irloop.graph.model import Node, Value
from irloop.graph.op import Result
from irloop.graph.walk import body_around

__all__ = ["has_no_element", "is_live"]

#: At most this many values are followed, because models may be huge. A value on which more values
#: depend counts as live: if no output depends on a value, few values do.
MOST = 512


def has_no_element(value: Value) -> bool:
    """Return whether the shape of `value` is known and has a dimension of 0."""
    dims = shape_of(value).static()
    return dims is not None and 0 in dims


def is_live(value: Value, *, sizes_count: bool = True) -> bool:
    """Return whether OpenVINO keeps any reader of a value.

    OpenVINO 2026.4, as measured, removes operations on which no model output depends, and inputs of
    a Concat that have no elements. In nested bodies, it removes parameters and results that nothing
    reads, but no states. It keeps an operation whose result is known, such as a product with 0. If
    more than `MOST` values depend on the value, it counts as kept.
    """
    pending, seen = [value], {value}
    while pending:
        if len(seen) > MOST:
            return True
        current = pending.pop()
        for user, position in current.uses:
            if user.op.reads_shape_only and not sizes_count:
                continue
            reached = _reached(current, user, position)
            if reached is None:
                return True
            pending += [item for item in reached if item not in seen]
            seen.update(reached)
    return False


def _reached(value: Value, user: Node, position: int) -> Sequence[Value] | None:
    """Return the values that directly depend on `value`, which `user` reads as input `position`.

    Returns None if an output of the model or a variable depends on it.
    """
    if isinstance(user.op, Result):
        return _returned(user)
    if isinstance(user.op, Assign | Assign6):
        return None
    if isinstance(user.op, Concat) and has_no_element(value):
        return ()
    if user.bodies and not _decides(user, position):
        return _entered(user, position)
    return user.outputs


def _decides(node: Node, at: int) -> bool:
    """Return whether input `at` is a condition or a trip count."""
    return at < (1 if isinstance(node.op, ov.If) else 2 if isinstance(node.op, ov.Loop) else 0)


def _entered(node: Node, at: int) -> list[Value]:
    """Return the values that directly depend on input `at` of `node`, a loop or an If.

    If the input is the initial value of a state, these are all outputs of the node, because a loop
    keeps all of its states. Otherwise they are the body parameters that receive the input.
    """
    entered: list[Value] = []
    for body in node.bodies:
        ports = [port for port in body.ports.inputs if port.external == at]
        if any(isinstance(port, Carried) for port in ports):
            return list(node.outputs)
        entered += [body.graph.input(port.parameter) for port in ports]
    return entered


def _returned(result: Node) -> Sequence[Value] | None:
    """Return the outputs of a loop or If that depend on the Result node `result` of its body.

    All outputs depend on a Result that is the condition or feeds a back edge. Return None if
    `result` belongs to the model itself and not to a body.
    """
    around = body_around(result)
    if around is None:
        return None
    owner, body = around
    at = body.graph.results.index(result)
    if at == body.ports.condition or any(port.result == at for port in body.ports.carried):
        return owner.outputs
    return [owner.outputs[port.external] for port in body.ports.outputs if port.result == at]
