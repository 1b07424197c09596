"""Replaces slices of a loop by gathers in its body."""

from __future__ import annotations

import numpy as np

from irloop.dialects.loops import normal_axis
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import Entering
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Sliced
from irloop.graph.model import Node, Value
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["SliceToGather"]


class SliceToGather(LoopPass):
    """Passes whole tensors to a Loop, whose body gathers its slices by the iteration number.

    Given::

        Loop(3, true, x [3,2]):  p: x[axis 0]                  y = Relu(p)

    Result::

        Loop(3, true, x [3,2]), iteration i:
          w: x                   p = Gather(w, Unsqueeze(i), 0)    y = Relu(p)

    OpenVINO 2026 slices the inputs of a Loop only forward and one element at a time; a Gather can
    read any element. A slice of a tensor of unknown rank is not replaced, nor are slices of a
    TensorIterator, because they determine its trip count.
    """

    name = "slice_to_gather"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        slices = [item for item in wires.slices if shape_of(item.outer).rank is not None]
        if not slices:
            return
        inner = self.session.rewriter(wires.graph)
        outside = writer_at(self.model, rewriter, node, node.name)
        inside = writer_at(self.model, inner, next(iter(wires.graph.nodes), None), node.name)
        number = wires.number(rewriter.names.fresh(f"{node.name}/iteration"))
        for entering in slices:
            wires.inputs.remove(entering)
            made = _gathered(entering, wires, number, outside, inside)
            inner.replace_value(entering.parameter, made, keep_names=False)
        wires.replace(ov.Loop(), rewriter)


def _gathered(
    entry: Entering, wires: LoopWires, number: Value, outside: NodeWriter, inside: NodeWriter
) -> Value:
    port, element = entry.port, element_of(number)
    assert isinstance(port, Sliced)
    axis, part = normal_axis(port.axis, shape_of(entry.outer).rank), port.part_size
    sliced = wires.capture(entry.outer, outside.names.fresh(entry.parameter.producer.name))
    index = number if shape_of(number).rank == 1 else inside.unsqueeze(number, [0])
    if part > 1:
        index = inside.multiply(index, inside.constant([part], element))
    if port.stride < 0:
        # Slice i is i slices before the last one.
        size = outside.convert(outside.size_of(entry.outer, axis), element)
        last = outside.subtract(size, outside.constant(part, element))
        first = wires.capture(last, outside.names.fresh(f"{sliced.producer.name}/last"))
        index = inside.subtract(first, index)
    if part > 1:
        index = inside.add(index, inside.constant(np.arange(part), element))
    return inside.gather(sliced, index, axis, may_be_negative=False)
