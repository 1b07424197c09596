"""Preserves the number of iterations of a TensorIterator if no output depends on what counts them.

OpenVINO removes such slices and outputs, and would then run the TensorIterator only once.
"""

from __future__ import annotations

from irloop.analysis.live_values import is_live
from irloop.analysis.patterns import counted_by_unread_ports
from irloop.dialects.wire_ends import INVARIANT, slice_port
from irloop.faults.repair import Repair
from irloop.faults.repairs.unread_states import TRUTH, one_of
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.common.tensor_iterator_to_loop import TensorIteratorToLoop
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.trips import trip_count
from irloop.passes.writers import writer_at

__all__ = ["CountIterations"]


class CountIterations(Repair, TensorIteratorToLoop):
    """Writes a TensorIterator as a Loop if no output depends on what counts its iterations.

    Given::

        TensorIterator(x [5,2], h):   p: x[axis 0] (not read)   s: h, s' = s + h   -> last s

    Result::

        Loop(5, true, x, h):   p: x[axis 0] (not read)   s: h, s' = s + h   -> last s

    OpenVINO removes such slices, and the TensorIterator would run only once (fault OVN121). The
    same holds without slices, if the range of an output that nothing reads is the trip count
    (fault OVN170). If OpenVINO's Loop does not support the port map, for example because of slices
    of two elements, the TensorIterator stays, and one of its outputs reads a slice::

        TensorIterator(x [6,2], h, true):   p: x[axis 0, 2 elements]   s: h, s' = s + h
                                            -> last Select(running, s', ReduceMax(p))
    """

    name = "count_iterations"
    # Folded branches and states leave slices that nothing reads.
    after = ("idle_loops",)
    leaves_dead_code = True

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if not counted_by_unread_ports(node):
            return
        # If a Loop counts, nothing needs these outputs, whose parts a Loop may not support.
        unread = [item for item in wires.outputs if not item.output.is_used]
        if len(unread) < len(wires.outputs):
            wires.outputs = [item for item in wires.outputs if item.output.is_used]
        super().change(node, wires, rewriter)
        if node.graph is not None:
            self._read_slice(node, wires, rewriter)

    def _read_slice(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        live = [item for item in wires.outputs if is_live(item.output)]
        if not live:
            return
        outside = writer_at(self.model, rewriter, node, node.name)
        inside = writer_at(self.model, self.session.rewriter(wires.graph), None, node.name)
        if not wires.slices:
            count = trip_count(node, self.session.inference)
            numbers = outside.constant([0] * (count or 1))
            seen = TensorType(ElementType.I64, Shape.of(1))
            wires.enter(numbers, inside.names.fresh("number"), slice_port(0), seen)
        true = outside.constant(True, ElementType.BOOLEAN)
        running = wires.enter(true, inside.names.fresh("running"), INVARIANT, TRUTH).parameter
        value = live[0].value
        part = inside.convert(one_of(inside, wires.slices[0].parameter), element_of(value))
        live[0].value = inside.select(running, value, part)
        wires.replace(node.op, rewriter)
