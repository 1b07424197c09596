"""Puts copies where OpenVINO's CPU would let states of a loop share memory."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from irloop.dialects.openvino import comparison, elementwise
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.builder import element_of
from irloop.graph.loops import Concatenated
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.forms import Emitter
from irloop.passes.loop_pass import LoopPass
from irloop.passes.rewriter import MatchRewriter
from irloop.passes.wires import LoopWires

__all__ = ["BodyBarriers", "needs_barrier", "shows_parameter"]

#: Operations that may give the memory of their input as their output.
VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Transpose", "Convert", "Identity"})

#: Operations that always compute into memory of their own; others may work in place.
OWN_MEMORY = frozenset(
    {
        "MatMul",
        "Convolution",
        "GroupConvolution",
        "LSTMCell",
        "GRUCell",
        "RNNCell",
        "LSTMSequence",
        "GRUSequence",
        "RNNSequence",
        "Loop",
        "TensorIterator",
        "If",
        "ReduceSum",
        "ReduceMean",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
    }
)


class BodyBarriers(LoopPass):
    """Copies what a loop carries on where it may share memory with what is overwritten.

    Given::

        Loop:  a' = b    b' = a    joined a, axis 0

    Result::

        Loop:  a' = Maximum(b, b)    b' = Maximum(a, a)    joined Maximum(a, a), axis 0

    OpenVINO's CPU carries out back edges one after another in the memory of the parameters, and
    cuts the next slice before it does. The maximum of a value with itself (of truths, their
    LogicalOr) is an operation that it neither leaves out nor computes in place; Concat, Tile,
    Broadcast, Transpose and x + 0 were measured to alias. A state that continues with itself stays.
    """

    name = "body_barriers"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop, ov.TensorIterator)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        parameters = {item.parameter for item in wires.inputs}
        moving = {item.parameter for item in [*wires.states, *wires.slices]}
        if wires.iteration is not None:
            parameters.add(wires.iteration)
            moving.add(wires.iteration)
        inner = self.session.rewriter(wires.graph)
        emitter = Emitter(inner, None, node.name)
        copies: dict[Value, Value] = {}

        def copied(value: Value) -> Value:
            if value not in copies:
                truth = element_of(value) is ElementType.BOOLEAN
                op = comparison.LogicalOr() if truth else elementwise.Maximum()
                copies[value] = emitter.emit(op, value, value)
            return copies[value]

        for item in wires.states:
            value = item.result
            if value is None or not needs_barrier(value, item.parameter, parameters, moving):
                continue
            shown = wires.shown_by(item)
            item.result = copied(value)
            for leaving in shown:
                leaving.value = item.result
        for leaving in wires.outputs:
            joined = isinstance(leaving.port, Concatenated)
            if joined and shows_parameter(leaving.value, parameters):
                leaving.value = copied(leaving.value)
        if copies:
            wires.replace(node.op, rewriter)


def needs_barrier(
    value: Value, own: Value, parameters: AbstractSet[Value], moving: AbstractSet[Value]
) -> bool:
    """True when the state held in `own` must not continue with `value` as it is.

    `parameters` are all of the body, `moving` those whose memory the next iteration overwrites.
    """
    if _is_copy(value):
        return False
    return _viewed(value) in parameters - {own} or _may_share(value, moving - {own})


def shows_parameter(value: Value, parameters: AbstractSet[Value]) -> bool:
    """True when a joined value is the memory of one of these parameters.

    What moves is overwritten before it is joined; what stays is copied to be safe, not by measure.
    """
    return _viewed(value) in parameters


def _is_copy(value: Value) -> bool:
    node = value.producer
    kinds = (comparison.LogicalOr, elementwise.Maximum)
    return isinstance(node.op, kinds) and node.inputs[0] is node.inputs[1]


def _viewed(value: Value) -> Value:
    """The value whose memory `value` may share."""
    while value.producer.op.type in VIEWS and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value


def _may_share(value: Value, moving: AbstractSet[Value]) -> bool:
    """True when `value` may be computed in place in the memory of one of these parameters.

    Measured: the plugin takes a view of a parameter for memory it may write to, and cuts the
    next slice into it before the back edges are carried out.
    """
    pending = [(value, False)]
    seen: set[tuple[Value, bool]] = set()
    while pending:
        item = pending.pop()
        if item in seen:
            continue
        seen.add(item)
        found, viewed = item
        if found in moving and viewed:
            return True
        kind = found.producer.op.type
        if kind in OWN_MEMORY:
            continue
        viewed = viewed or kind in VIEWS
        pending += [(one, viewed) for one in found.producer.inputs if one is not None]
    return False
