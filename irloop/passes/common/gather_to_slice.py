"""Replaces Gathers at the iteration number by sliced inputs of the loop."""

from __future__ import annotations

from irloop.dialects.loops import normal_axis
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.gather import GATHERS
from irloop.dialects.openvino.shape import RESHAPING
from irloop.dialects.wire_ends import Entering, slice_port
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.types import TensorType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["GatherToSlice"]


class GatherToSlice(LoopPass):
    """Slices an input of a Loop whose body gathers element i in iteration i.

    Given::

        Loop(3, c, x [5,2]), iteration i:  w: x    p = Gather(w, i, 0)    y = Relu(p)

    Result::

        Loop(3, c, x [5,2]):  s: x[axis 0]    p = Squeeze(s, 0)    y = Relu(p)

    The body then reads one element at a time, and a Loop whose trip count is the length may become
    a TensorIterator. A Gather is not replaced if the trip count is not constant or may exceed the
    length, or if the index is not the iteration number.
    """

    name = "gather_to_slice"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        known = None if wires.trip is None else self.session.inference.constant(wires.trip)
        limit = -1 if known is None or known.size != 1 else int(known.reshape(-1)[0])
        if limit < 0 or wires.iteration is None:
            return
        inner = self.session.rewriter(wires.graph)
        captured = {item.parameter: item for item in wires.invariants}
        changed = False
        for index in _indices(wires.iteration):
            for user, position in index.uses:
                source = user.inputs[0] if isinstance(user.op, GATHERS) else None
                invariant = None if source is None or position != 1 else captured.get(source)
                axis = None if invariant is None else self._axis(user, invariant, limit)
                if invariant is None or axis is None:
                    continue
                changed = True
                w = writer_at(self.model, inner, user, node.name)
                piece = _entered(wires, invariant, axis, w)
                if shape_of(index).rank == 0:
                    piece = w.squeeze(piece, [axis])
                inner.replace_node(user, [piece])
            if index is not wires.iteration and not index.is_used:
                inner.erase(index.producer)
        if changed:
            wires.drop_unread(node.op)
            wires.replace(ov.Loop(), rewriter)

    def _axis(self, node: Node, wire: Entering, limit: int) -> int | None:
        """Return the axis of a Gather that reads a loop input, if the axis is long enough.

        The axis must have at least `limit` elements. `limit` is the trip count, so each iteration
        number is then a valid index. Returns None if the axis is shorter, if the axis or its size
        is unknown, if the Gather has batch dimensions, or if the body converts the input to another
        element type.
        """
        where, dims = node.inputs[2], shape_of(wire.outer).dims
        known = None if where is None else self.session.inference.constant(where)
        if (
            known is None
            or known.size != 1
            or dims is None
            or getattr(node.op, "batch_dims", False)
        ):
            return None
        axis = normal_axis(int(known.reshape(-1)[0]), len(dims))
        size = dims[axis]
        same = element_of(wire.outer) is element_of(wire.parameter)
        return axis if same and isinstance(size, int) and size >= limit else None


def _indices(number: Value) -> list[Value]:
    """Return the values that hold the iteration number.

    These are `number` and each reshape of it to a scalar or a one-element vector.
    """
    indices = [number]
    for node, position in number.uses:
        shaped = isinstance(node.op, RESHAPING) and position == 0
        if shaped and shape_of(node.outputs[0]).dims in ((), (1,)):
            indices.append(node.outputs[0])
    return indices


def _entered(wires: LoopWires, invariant: Entering, axis: int, w: NodeWriter) -> Value:
    """Return the body parameter for slices of `invariant.outer` along `axis`; add it if missing."""
    for other in wires.slices:
        if other.outer is invariant.outer and other.port == slice_port(axis):
            return other.parameter
    assert isinstance(invariant.outer.type, TensorType)
    type = TensorType(invariant.outer.type.element, invariant.outer.type.shape.with_dim(axis, 1))
    name = w.names.fresh(invariant.parameter.producer.name)
    return wires.enter(invariant.outer, name, slice_port(axis), type).parameter
