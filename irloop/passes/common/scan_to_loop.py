"""Converts Scans to Loops."""

from __future__ import annotations

from functools import partial

from irloop.dialects.loops import normal_axis
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.wire_ends import Entering, stacked_port
from irloop.graph.builder import shape_of
from irloop.graph.loops import ScanInput, ScanOutput
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["ScanToLoop"]

#: The first opset in which a Loop may have no state.
WITHOUT_STATES = 11

#: The first opset in which a slice may have a negative step.
WITH_STEPS = 10


class ScanToLoop(LoopPass):
    """Converts a Scan to a Loop that gathers its elements by the iteration number.

    Given::

        Scan(x [5,2], h):  p: x[axis 0, backwards]   s: h, s' = s + p   -> last s, stacked s, axis 1

    Result::

        Loop(5, -, h), iteration i:
          p = Gather(x, 4 - i)   s: h, s' = s + p   condition true     -> last s, t = stacked s
        Transpose(t, 0 to 1)

    The length may be unknown until the model runs. A Scan is not converted if an input or result
    has unknown rank, if it has no state before opset 11, or if a result is in reverse order before
    opset 10.
    """

    name = "scan_to_loop"
    dialects = frozenset({"onnx"})
    loops = (onnx.Scan,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        slices = wires.slices
        ranks = [shape_of(item.outer).rank for item in slices]
        ranks += [shape_of(item.value).rank for item in wires.outputs]
        opset = self.model.opsets.get("", 0)
        stateless = not wires.states and opset < WITHOUT_STATES
        turned = any(
            isinstance(item.port, ScanOutput) and item.port.reverse for item in wires.outputs
        )
        if None in ranks or stateless or (turned and opset < WITH_STEPS):
            return
        w = writer_at(self.model, rewriter, node, node.name)
        first = slices[0]
        assert isinstance(first.port, ScanInput)
        length = w.size_of(first.outer, normal_axis(first.port.axis, ranks[0]))
        inner = self.session.rewriter(wires.graph)
        inside = writer_at(self.model, inner, next(iter(wires.graph.nodes), None), node.name)
        wires.iteration = wires.number(rewriter.names.fresh("iteration"))
        for entering in slices:
            wires.inputs.remove(entering)
            element = self._element(entering, wires, length, w, inside)
            inner.replace_value(entering.parameter, element, keep_names=False)
        self._order_outputs(wires, rewriter)
        wires.trip = length
        wires.goes_on = inside.constant(True, ElementType.BOOLEAN)
        wires.replace(onnx.Loop(), rewriter)

    def _element(
        self, entry: Entering, wires: LoopWires, length: Value, w: NodeWriter, inside: NodeWriter
    ) -> Value:
        assert isinstance(entry.port, ScanInput)
        assert wires.iteration is not None
        names = w.names
        name = entry.parameter.producer.name
        scanned = wires.capture(entry.outer, names.fresh(name))
        index = wires.iteration
        if entry.port.reverse:
            last = wires.capture(w.subtract(length, w.constant(1)), names.fresh(f"{name}/last"))
            index = inside.subtract(last, index)
        axis = normal_axis(entry.port.axis, shape_of(entry.outer).rank)
        return inside.gather(scanned, index, axis)

    def _order_outputs(self, wires: LoopWires, rewriter: MatchRewriter) -> None:
        """Make the Loop stack its scan outputs forward along axis 0, as every ONNX Loop does.

        A Scan may also stack along another axis or in reverse order. For such an output, operations
        after the Loop move the axis or reverse the order.
        """
        behind = writer_at(self.model, rewriter, wires.node.following, wires.node.name)
        for leaving in wires.outputs:
            port = leaving.port
            if not isinstance(port, ScanOutput):
                continue
            rank = (shape_of(leaving.value).rank or 0) + 1
            axis = normal_axis(port.axis, rank)
            leaving.port = stacked_port()
            change = partial(_put_in_order, behind, axis, rank, port.reverse)
            wires.change_output(leaving, rewriter, change)


def _put_in_order(w: NodeWriter, axis: int, rank: int, reverse: bool, value: Value) -> Value:
    turned = w.reverse(value, 0) if reverse else value
    return w.moved(turned, 0, axis, rank)
