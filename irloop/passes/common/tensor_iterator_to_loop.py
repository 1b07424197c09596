"""Converts TensorIterators to Loops."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import slice_port
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.trips import trip_count
from irloop.passes.writers import writer_at

__all__ = ["TensorIteratorToLoop"]


class TensorIteratorToLoop(LoopPass):
    """Converts a TensorIterator to a Loop whose trip count is the number of its slices.

    Given::

        TensorIterator(x [5,2], h):
          p: x[axis 0, backwards]   s: h, s' = s + p     -> last s, joined s, axis 0

    Result::

        r = x backwards
        Loop(5, true, r, h):
          p: r[axis 0]   s: h, s' = s + p   condition true   -> last s, joined s, axis 0

    The trip count is a constant or computed from a dimension. OpenVINO's Loop slices whole axes,
    forward and one element at a time; for other orders and ranges, the tensors are reversed or
    sliced outside the loop. A TensorIterator is not converted if its slices or concatenated parts
    have several elements (OpenVINO's Loop refuses them), if one of its ranges covers an unknown
    dimension, or if it converts inputs to another element type.
    """

    name = "tensor_iterator_to_loop"
    dialects = frozenset({"openvino"})
    loops = (ov.TensorIterator,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if not _keeps_types(wires) or not _is_plain(wires):
            return
        w = writer_at(self.model, rewriter, node, node.name)
        trip = self._trip(node, wires, w)
        if trip is None:
            return
        for entering in wires.slices:
            assert isinstance(entering.port, Sliced)
            entering.outer = w.range_of(entering.outer, entering.port)
            if entering.port.stride < 0:
                entering.outer = w.reverse(entering.outer, entering.port.axis)
            entering.port = slice_port(entering.port.axis)
        behind = writer_at(self.model, rewriter, node.following, node.name)
        for leaving in wires.outputs:
            port = leaving.port
            if not isinstance(port, Concatenated):
                continue
            if port.stride < 0:
                wires.change_output(leaving, rewriter, partial(behind.reverse, axis=port.axis))
            leaving.port = replace(port, start=0, end=-1, stride=1)
        wires.trip = trip
        wires.starts = w.constant(True, ElementType.BOOLEAN)
        inner = writer_at(self.model, self.session.rewriter(wires.graph), None, node.name)
        wires.goes_on = inner.constant(True, ElementType.BOOLEAN)
        wires.replace(ov.Loop(), rewriter)

    def _trip(self, node: Node, wires: LoopWires, w: NodeWriter) -> Value | None:
        count = trip_count(node, self.session.inference)
        if count is not None:
            return w.constant(count)
        for entering in wires.slices:
            port = entering.port
            assert isinstance(port, Sliced)
            full = (0, -1) if port.stride > 0 else (-1, 0)
            if (port.start, port.end) == full:
                return w.size_of(entering.outer, port.axis)
        return None


def _keeps_types(wires: LoopWires) -> bool:
    """Return whether no value changes its element type on the way into the body or back.

    In a Loop, parameters must have the types of the values that they receive; a TensorIterator
    converts these values.
    """
    pairs = [(item.outer, item.parameter) for item in wires.inputs]
    pairs += [(item.result, item.parameter) for item in wires.states if item.result is not None]
    return all(element_of(outer) is element_of(inner) for outer, inner in pairs)


def _is_plain(wires: LoopWires) -> bool:
    """Return whether a Loop can express all slices and concatenated parts.

    Each slice and each part must have one element. A slice must also cover its whole axis, unless
    the size of the axis is known.
    """
    for item in wires.slices:
        port, dims = item.port, shape_of(item.outer).dims
        assert isinstance(port, Sliced)
        if dims is None or not 0 <= port.axis < len(dims) or abs(port.stride) != 1:
            return False
        whole = (port.start, port.end) == ((0, -1) if port.stride > 0 else (-1, 0))
        if port.part_size != 1 or not (whole or isinstance(dims[port.axis], int)):
            return False
    joined = [item for item in wires.outputs if isinstance(item.port, Concatenated)]
    for leaving in joined:
        assert isinstance(leaving.port, Concatenated)
        if leaving.port.part_size != 1 or abs(leaving.port.stride) != 1:
            return False
        dims = shape_of(leaving.value).dims
        if leaving.port.stride < 0 and dims and dims[leaving.port.axis] != 1:
            return False
    return True
