"""Puts copies where OpenVINO's CPU would let states of a loop share memory."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from irloop.dialects.openvino import comparison, elementwise
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.builder import element_of
from irloop.graph.loops import Concatenated
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op, Result
from irloop.graph.types import ElementType
from irloop.hazards.patterns import VIEWS, same_memory
from irloop.passes.forms import Emitter
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["BodyBarriers", "copying", "needs_barrier", "shows_parameter"]

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


#: Operations that write into the memory of their first input, if nothing else reads it.
IN_PLACE = frozenset(
    {
        "SoftMax",
        "LogSoftmax",
        "GRN",
        "ScatterUpdate",
        "ScatterElementsUpdate",
        "ScatterNDUpdate",
        "SliceScatter",
    }
)


#: Operations that move elements into memory of their own, or leave everything where it was.
MOVES = frozenset(
    {
        "Broadcast",
        "Concat",
        "Gather",
        "GatherElements",
        "GatherND",
        "NonZero",
        "Pad",
        "ShapeOf",
        "Slice",
        "Split",
        "StridedSlice",
        "Tile",
        "TopK",
        "VariadicSplit",
    }
)


class BodyBarriers(LoopPass):
    """Copies what a loop carries on or captures where its memory may be overwritten.

    Given::

        Loop(x):  a' = b    b' = a    joined a, axis 0    y = SoftMax(x)

    Result::

        Loop(x):  a' = Maximum(b, b)    b' = Maximum(a, a)    joined Maximum(a, a), axis 0
                  y = SoftMax(Maximum(x, x))

    OpenVINO's CPU carries out back edges one after another in the memory of the parameters, and
    cuts the next slice before it does. The maximum of a value with itself (of truths, their
    LogicalOr) is an operation that it neither leaves out nor computes in place; Concat, Tile,
    Broadcast, Transpose and x + 0 were measured to alias. A state that continues with itself stays.

    A value that does not change is written into the body's memory once, before the first
    iteration. Operations of `IN_PLACE` overwrite it there, and so do elementwise operations on a
    view of it: the next iteration would read what they made.
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
                copies[value] = emitter.emit(copying(value), value, value)
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
        for item in wires.invariants:
            if _is_overwritten(item.parameter):
                _read_a_copy(item.parameter, inner, node.name)
                rewriter.modified = True
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
    return same_memory(value) in parameters - {own} or _may_share(value, moving - {own})


def shows_parameter(value: Value, parameters: AbstractSet[Value]) -> bool:
    """True when a joined value is the memory of one of these parameters.

    What moves is overwritten before it is joined; what stays is copied to be safe, not by measure.
    """
    return same_memory(value) in parameters


def _is_overwritten(parameter: Value) -> bool:
    """True when the body may write into the memory of a value that it captures."""
    pending = [(parameter, False)]
    seen: set[tuple[Value, bool]] = set()
    while pending:
        item = pending.pop()
        if item in seen:
            continue
        seen.add(item)
        value, viewed = item
        for user, position in value.uses:
            kind = user.op.type
            if isinstance(user.op, Result) or kind in OWN_MEMORY:
                continue
            if kind in IN_PLACE and position == 0:
                return True
            if kind in VIEWS:
                pending += [(output, True) for output in user.outputs]
            elif viewed and kind not in MOVES:
                return True
            elif _has_one_source(user):
                # What moves elements may be left out, and a view of its input is left.
                pending += [(output, False) for output in user.outputs]
    return False


def _has_one_source(node: Node) -> bool:
    given = [value for value in node.inputs if value is not None]
    return sum(not isinstance(value.producer.op, Constant) for value in given) == 1


def _read_a_copy(parameter: Value, inner: MatchRewriter, stem: str) -> None:
    """Let the body read a copy of what it captures."""
    uses = [use for use in parameter.uses if not isinstance(use[0].op, Result)]
    first = next(iter(inner.graph.nodes), None)
    copy = Emitter(inner, first, stem).emit(copying(parameter), parameter, parameter)
    for user, position in uses:
        inner.set_input(user, position, copy)


def copying(value: Value) -> Op:
    """The operation that copies a value when it is given the value twice."""
    truth = element_of(value) is ElementType.BOOLEAN
    return comparison.LogicalOr() if truth else elementwise.Maximum()


def _is_copy(value: Value) -> bool:
    node = value.producer
    kinds = (comparison.LogicalOr, elementwise.Maximum)
    return isinstance(node.op, kinds) and node.inputs[0] is node.inputs[1]


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
