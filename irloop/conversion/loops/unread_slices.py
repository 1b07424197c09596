"""Preserves the number of iterations of a TensorIterator whose slices no output depends on.

OpenVINO removes such slices, and would then run the TensorIterator only once.
"""

from __future__ import annotations

from irloop.conversion.loops.unread_states import TRUTH, one_of
from irloop.graph.builder import element_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Node
from irloop.graph.types import ElementType
from irloop.hazards.live_values import is_live
from irloop.passes.common.tensor_iterator_to_loop import TensorIteratorToLoop
from irloop.passes.forms import Emitter, Forms, selected
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["CountIterations"]


class CountIterations(TensorIteratorToLoop):
    """Writes a TensorIterator as a Loop if no output depends on its slices.

    Given::

        TensorIterator(x [5,2], h):   p: x[axis 0] (not read)   s: h, s' = s + h   -> last s

    Result::

        Loop(5, true, x, h):   p: x[axis 0] (not read)   s: h, s' = s + h   -> last s

    OpenVINO removes such slices, and the TensorIterator would run only once (hazard OVN121). If
    OpenVINO's Loop does not support the port map, for example because of slices of two elements,
    the TensorIterator stays, and one of its outputs reads a slice::

        TensorIterator(x [6,2], h, true):   p: x[axis 0, 2 elements]   s: h, s' = s + h
                                            -> last Select(running, s', ReduceMax(p))
    """

    name = "count_iterations"

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        if not wires.slices or any(
            is_live(item.parameter, sizes_count=False) for item in wires.slices
        ):
            return
        super().change(node, wires, rewriter)
        if node.graph is not None:
            self._read_slice(node, wires, rewriter)

    def _read_slice(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        live = [item for item in wires.outputs if is_live(item.output)]
        if not live:
            return
        inside = Forms(self.model, self.session.rewriter(wires.graph), None, node.name)
        true = Emitter(rewriter, node, node.name).constant(True, ElementType.BOOLEAN)
        running = wires.enter(true, inside.names.fresh("running"), Invariant(0, 0), TRUTH)
        value = live[0].value
        part = inside.converted(one_of(inside, wires.slices[0].parameter), element_of(value))
        live[0].value = selected(inside.emit, running, value, part)
        wires.replace(node.op, rewriter)
