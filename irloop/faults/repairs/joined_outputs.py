"""Makes the concatenated outputs of a Loop empty if the Loop runs zero iterations."""

from __future__ import annotations

from functools import partial

from irloop.analysis.patterns import number_of
from irloop.analysis.shared_memory import readers_of
from irloop.analysis.states import unknown_axes
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import LogicalAnd, NotEqual
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Slice
from irloop.dialects.wire_ends import Leaving
from irloop.faults.repair import Repair
from irloop.graph.builder import element_of, shape_of
from irloop.graph.inference import Inference
from irloop.graph.loops import Concatenated
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.folding import folded
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.trips import condition_after
from irloop.passes.writers import writer_at

__all__ = ["CutJoined"]


class CutJoined(Repair, LoopPass):
    """Makes the concatenated outputs of a Loop empty if the Loop runs zero iterations.

    Given::

        y = Loop(3, c, a):  s: a, s' = s + s   condition true   -> joined s, axis 0

    Result::

        j = Loop(3, c, a):  ...
        y = Slice(j, 0, ShapeOf(j)[0] * Convert(c), axis 0)

    OpenVINO derives the size of `y` from the trip count alone if the condition in the body is
    true, and assumes a size of 1 if it is false, whatever the trip count is. It returns
    uninitialised memory if `c` is false. Other dimensions of `y` that are known only at run time
    are cut in the same way, because OpenVINO keeps their sizes from an earlier inference.
    """

    name = "cut_joined"
    after = ("unchanged_values",)
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if not _has_static_count(node, self.session.inference):
            return
        joined = [
            item
            for item in wires.outputs
            if isinstance(item.port, Concatenated) and not _is_cut(item.output)
        ]
        if not joined or wires.starts is None:
            return
        w = writer_at(self.model, rewriter, node.following, node.name)
        started = w.convert(_started(w, node, wires.starts), ElementType.I64)
        for item in joined:
            wires.change_output(item, rewriter, partial(_cut, w, started, item))
        wires.replace(node.op, rewriter)


def _has_static_count(node: Node, inference: Inference) -> bool:
    """Return whether a Loop might run zero times, but OpenVINO derives a fixed size for joined
    outputs.
    """
    count, starts = number_of(node.inputs[0]), number_of(node.inputs[1])
    goes_on = _constant_condition(node, inference)
    if goes_on is None or count == 0:
        return False
    if goes_on:
        return count is not None and count > 0 and starts is None
    return count is None or starts is None


def _constant_condition(node: Node, inference: Inference) -> bool | None:
    """Return the condition after each iteration if it is constant; None if it is computed.

    The constant may be in the body, or in an outer graph from which the body captures it.
    """
    known = condition_after(node, inference)
    condition = node.body().ports.condition
    if known is not None or condition is None:
        return known
    tensor = folded(node.body().graph.output(condition))
    return None if tensor is None else bool(tensor.numpy().all())


def _started(w: NodeWriter, node: Node, starts: Value) -> Value:
    """Emit a one-element boolean vector: true if the Loop runs at least one iteration."""
    started = w.reshape(starts, [1])
    trip = node.inputs[0]
    if trip is None or number_of(trip) is not None:
        return started
    count = w.reshape(trip, [1])
    some = w(NotEqual(), count, w.constant([0], element_of(trip)))
    return w(LogicalAnd(), started, some)


def _is_cut(value: Value) -> bool:
    return all(isinstance(user.op, Slice | ShapeOf3) for user in readers_of(value))


def _cut(w: NodeWriter, started: Value, leaving: Leaving, value: Value) -> Value:
    assert isinstance(leaving.port, Concatenated)
    # A scalar is joined along axis 0.
    axis = leaving.port.axis if shape_of(leaving.value).rank else 0
    axes = [axis, *unknown_axes(value, axis)]
    lengths = w.gather(w.shape_of(value), w.constant(axes), 0)
    ends = w.multiply(lengths, started)
    zeros, ones = w.constant([0] * len(axes)), w.constant([1] * len(axes))
    return w(Slice(), value, zeros, ends, ones, w.constant(axes))
