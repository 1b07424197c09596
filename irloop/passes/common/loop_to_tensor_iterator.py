"""Converts Loops to TensorIterators if only their slices or a constant trip count end them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from irloop.analysis.patterns import is_in_iterator
from irloop.dialects.loops import is_consistent, normal_axis
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import Entering, slice_port
from irloop.graph.builder import shape_of
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Node
from irloop.graph.types import Shape, TensorType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.trips import trip_count
from irloop.passes.writers import writer_at

__all__ = ["LoopToTensorIterator"]


class LoopToTensorIterator(LoopPass):
    """Converts a Loop with a constant trip count and no early stop to a TensorIterator.

    Given::

        Loop(5, true, x [7,2], h), iteration i:
          p: x[axis 0]   s: h, s' = s + p * i   condition true   -> last s

    Result::

        y = x[0:5]
        TensorIterator(y, Const [0,1,2,3,4], h):
          p: y[axis 0]   i: [0,1,2,3,4][axis 0]   s: h, s' = s + p * i   -> last s

    The iteration number becomes a slice of a constant, and slices that the body does not read are
    removed. A Loop is not converted if its trip count is unknown or 0, if nothing would determine
    the trip count of the TensorIterator, if it has only invariant inputs, if a state changes its
    shape, if the length of a sliced axis is unknown, or if it is directly in or around another
    TensorIterator (OpenVINO allows no nesting).
    """

    name = "loop_to_tensor_iterator"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        count = trip_count(node, self.session.inference)
        fed = any(item.parameter.is_used for item in wires.inputs)
        if not count or not fed or _beside_another(node):
            return
        # OpenVINO drops slices and outputs that nothing reads, so they cannot determine the trip
        # count.
        unread = [item for item in wires.slices if not item.parameter.is_used]
        read = [item for item in wires.slices if item not in unread]
        counted = wires.iteration is not None and wires.iteration.is_used
        joined = [item for item in wires.outputs if isinstance(item.port, Concatenated)]
        joins = any(item.output.is_used for item in joined)
        # OpenVINO crashes when it folds a TensorIterator that has only constant invariants.
        held = _states_without_condition(wires) and (joins or count == 1)
        if not (read or counted or held):
            return
        if not all(_is_long_enough(item, count) for item in wires.slices):
            return
        if any(_grows(item) for item in wires.states):
            return
        wires.inputs = [item for item in wires.inputs if item not in unread]
        w = writer_at(self.model, rewriter, node, node.name)
        # Remove the condition, which is always true; if the body reads it, it becomes a state.
        kept = _states_without_condition(wires)
        wires.inputs = [item for item in wires.inputs if item.result is None or item in kept]
        wires.goes_on = wires.trip = wires.starts = None
        for item in wires.slices:
            _slice_exactly(item, count, w)
        if counted:
            self._count_by_slices(wires, count, w)
        if not wires.slices:
            _set_output_ranges(wires, count)
        wires.iteration = None
        wires.replace(ov.TensorIterator(), rewriter)

    def _count_by_slices(self, wires: LoopWires, count: int, w: NodeWriter) -> None:
        old = wires.iteration
        assert old is not None
        assert isinstance(old.type, TensorType)
        numbers = w.constant(np.arange(count), old.type.element)
        seen = TensorType(old.type.element, Shape.of(1))
        inner = self.session.rewriter(wires.graph)
        first = next(iter(wires.graph.nodes), None)
        number = wires.enter(numbers, old.producer.name, slice_port(0), seen).parameter
        if old.type.shape.rank == 0:
            number = writer_at(self.model, inner, first, wires.node.name).squeeze(number, [0])
        inner.replace_value(old, number, keep_names=False)


def _beside_another(node: Node) -> bool:
    inner = node.body().graph.nodes
    return is_in_iterator(node) or any(isinstance(each.op, ov.TensorIterator) for each in inner)


def _is_long_enough(item: Entering, count: int) -> bool:
    port, dims = item.port, shape_of(item.outer).dims
    if not isinstance(port, Sliced) or dims is None or not is_consistent(port):
        return False
    size = dims[normal_axis(port.axis, len(dims))]
    return isinstance(size, int) and size >= count * port.part_size


def _grows(state: Entering) -> bool:
    """Return whether the shape of a state may change between iterations.

    A loop with such a state cannot become a TensorIterator, because OpenVINO would keep the first
    shape in all iterations.
    """
    first, later = shape_of(state.outer).dims, shape_of(state.parameter).dims
    if first is None or later is None or len(first) != len(later):
        return True
    return any(isinstance(dim, int) and dim != seen for dim, seen in zip(first, later, strict=True))


def _states_without_condition(wires: LoopWires) -> list[Entering]:
    """Return the states of a loop except those that only carry its condition.

    Such a state starts with the initial condition of the loop, its next value is the condition that
    the body returns, and neither the body nor an output of the loop reads it.
    """
    return [
        item
        for item in wires.states
        if item.outer is not wires.starts
        or item.result is not wires.goes_on
        or wires.shown_by(item)
        or item.parameter.is_used
    ]


def _slice_exactly(entry: Entering, count: int, w: NodeWriter) -> None:
    """Cut the outer value so that it has exactly `count` slices, one for each iteration.

    A Loop ignores further slices, whereas a TensorIterator would run once for each of them.
    """
    port = entry.port
    assert isinstance(port, Sliced)
    axis = normal_axis(port.axis, shape_of(entry.outer).rank)
    size, taken = shape_of(entry.outer).dim(axis), count * port.part_size
    assert isinstance(size, int)
    if size != taken:
        low = 0 if port.stride > 0 else size - taken
        entry.outer = w.part(entry.outer, axis, low, low + taken)
    start, end = (0, -1) if port.stride > 0 else (-1, 0)
    entry.port = replace(port, axis=axis, start=start, end=end)


def _set_output_ranges(wires: LoopWires, count: int) -> None:
    """Set the range of each concatenated output to the total size of `count` iterations."""
    for leaving in wires.outputs:
        if isinstance(leaving.port, Concatenated):
            forward, length = leaving.port.stride > 0, count * leaving.port.part_size
            start, end = (0, length) if forward else (length, 0)
            step = leaving.port.part_size if forward else -leaving.port.part_size
            leaving.port = replace(leaving.port, start=start, end=end, stride=step)
