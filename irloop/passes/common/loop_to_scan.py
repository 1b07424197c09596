"""Converts Loops with a constant trip count to Scans."""

from __future__ import annotations

import numpy as np

from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx import gather
from irloop.dialects.onnx.elementwise import Sub
from irloop.dialects.wire_ends import element_port
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.loops import LastValue
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.trips import one_element, trip_count
from irloop.passes.writers import writer_at

__all__ = ["LoopToScan"]

#: The first opset whose Scan has no batch axis.
SCAN = 9


class LoopToScan(LoopPass):
    """Converts a Loop with a constant trip count and no early stop to a Scan.

    Given::

        Loop(5, true, h), iteration i, invariant x [7,2]:
          p = Gather(x, i)   s: h, s' = s + p * i     -> last s

    Result::

        y = x[0:5]
        Scan(h, y, Const [0,1,2,3,4]):
          p: y[axis 0]   i: [0,1,2,3,4][axis 0]   s: h, s' = s + p * i     -> last s

    Tensors that the body gathers by the iteration number are scanned. If anything else reads the
    iteration number, a list of the numbers is scanned, too. A Loop is not converted if its trip
    count is unknown or 0, if a state is not a tensor or may change its shape, or before opset 9.
    """

    name = "loop_to_scan"
    dialects = frozenset({"onnx"})
    loops = (onnx.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        count = trip_count(node, self.session.inference)
        old = self.model.opsets.get("", 0) < SCAN
        if not count or old or not _states_keep_shape(wires):
            return
        w = writer_at(self.model, rewriter, node, node.name)
        inner = self.session.rewriter(wires.graph)
        inside = writer_at(self.model, inner, next(iter(wires.graph.nodes), None), node.name)
        if wires.running is not None and wires.running.is_used:
            # A body may declare its condition with shape [1].
            truth = inside.constant(np.ones(one_element(wires.running)), ElementType.BOOLEAN)
            inner.replace_value(wires.running, truth, keep_names=False)
        if wires.iteration is not None and not one_element(wires.iteration):
            self._scan_gathered(wires, count, w)
        number = wires.iteration
        if not wires.slices or (number is not None and number.is_used):
            self._scan_numbers(wires, count, w)
        control = [value.producer for value in (wires.trip, wires.starts) if value is not None]
        condition = [] if wires.goes_on is None else [wires.goes_on.producer]
        wires.iteration = wires.running = wires.goes_on = wires.trip = wires.starts = None
        wires.drop_unread(onnx.Scan())
        _separate(wires, writer_at(self.model, inner, None, node.name))
        wires.replace(onnx.Scan(), rewriter)
        rewriter.erase_unread(control)
        inner.erase_unread(condition)

    def _scan_gathered(self, wires: LoopWires, count: int, w: NodeWriter) -> None:
        assert wires.iteration is not None
        inner = self.session.rewriter(wires.graph)
        captured = {item.parameter: item.outer for item in wires.invariants}
        for index, reverse in _indices(wires.iteration, self.session.inference, count, captured):
            for node, position in index.uses:
                source = node.inputs[0]
                if not isinstance(node.op, gather.Gather) or position != 1 or source is None:
                    continue
                dims = shape_of(source).dims
                axis = normal_axis(node.op.axis, None if dims is None else len(dims))
                size = None if dims is None else dims[axis]
                outer = captured.get(source)
                if outer is None or not isinstance(size, int) or size < count:
                    continue
                if size > count:
                    outer = w.part(outer, axis, 0, count)
                assert isinstance(node.output.type, TensorType)
                name = inner.names.fresh(node.name)
                wire = wires.enter(outer, name, element_port(axis, reverse), node.output.type)
                inner.replace_node(node, [wire.parameter])
            if index is not wires.iteration and not index.is_used:
                inner.erase(index.producer)

    def _scan_numbers(self, wires: LoopWires, count: int, w: NodeWriter) -> None:
        shape = () if wires.iteration is None else one_element(wires.iteration)
        numbers = w.constant(np.arange(count).reshape(count, *shape))
        type = TensorType(ElementType.I64, Shape(shape))
        name = w.names.fresh("iteration")
        number = wires.enter(numbers, name, element_port(), type).parameter
        if wires.iteration is not None:
            inner = self.session.rewriter(wires.graph)
            inner.replace_value(wires.iteration, number, keep_names=False)


def _states_keep_shape(wires: LoopWires) -> bool:
    for item in wires.states:
        types = {item.outer.type, item.parameter.type}
        types |= set() if item.result is None else {item.result.type}
        (first, *others) = types
        if others or not isinstance(first, TensorType) or not first.shape.is_static:
            return False
    return all(isinstance(item.outer.type, TensorType) for item in wires.inputs)


def _indices(
    number: Value, inference: Inference, count: int, captured: dict[Value, Value]
) -> list[tuple[Value, bool]]:
    """Find the values in a loop body that are usable as an index of a scanned input.

    Returns pairs (value, counts down): the iteration number with False, and each value that is
    computed as `count` - 1 - iteration number with True.
    """
    indices = [(number, False)]
    for node, position in number.uses:
        first = node.inputs[0]
        if not isinstance(node.op, Sub) or position != 1 or first is None:
            continue
        last = inference.constant(captured.get(first, first))
        if last is not None and last.shape == () and int(last) == count - 1:
            indices.append((node.output, True))
    return indices


def _separate(wires: LoopWires, w: NodeWriter) -> None:
    """Give every result its own value, different from parameters and from other results.

    ONNX Runtime swaps the buffers of a Scan's states, so a state that is returned unchanged is
    lost. If two results return the same value, only one of them is written.
    """
    taken = {item.parameter for item in wires.inputs}

    def own(value: Value) -> Value:
        made = w.copied(value) if value in taken else value
        taken.add(made)
        return made

    for state in wires.states:
        assert state.result is not None
        shown = wires.shown_by(state)
        new = own(state.result)
        for leaving in shown:
            leaving.value = new
        state.result = new
    for leaving in wires.outputs:
        if not isinstance(leaving.port, LastValue):
            leaving.value = own(leaving.value)
