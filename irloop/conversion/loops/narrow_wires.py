"""Carries 4-bit integers into and out of ONNX loops as bytes.

ONNX allows states, slices and scan outputs of 4-bit integers, but ONNX Runtime has no kernel for
such loops. The pass casts these values to 8-bit integers at the borders of the loop.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from irloop.conversion.framework.carriers import CARRIERS
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.base import TINY_INTEGERS
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.wire_ends import Entering
from irloop.graph.builder import element_of, shape_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType, TensorType
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["CarryNarrowWires"]


class CarryNarrowWires(LoopPass):
    """Carries 4-bit integers into and out of ONNX loops as bytes.

    Given::

        y = Scan(x):                 p: x[axis 0], i4   q = f(p)   -> joined q, i4

    Result::

        w = Scan(Cast to i8 (x)):    c: ...[axis 0]     p = Cast to i4 (c)
                                     q = f(p)                      -> joined Cast to i8 (q)
        y = Cast to i4 (w)

    ONNX allows Loops and Scans of these types, but ONNX Runtime 1.31 has no kernel for them,
    because it cannot slice tensors whose elements share bytes. Captured values are not changed.
    """

    name = "carry_narrow_wires"
    dialects = frozenset({"onnx"})
    loops = (onnx.Loop, onnx.Scan)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        entering = [
            item
            for item in wires.inputs
            if _is_narrow(item.outer) and not isinstance(item.port, Invariant)
        ]
        leaving = [item for item in wires.outputs if _is_narrow(item.value)]
        if not entering and not leaving:
            return
        # Most models need no such change, nor the operations that it emits.
        from irloop.passes.writers import writer_at

        outside = writer_at(self.model, rewriter, node, node.name)
        after = writer_at(self.model, rewriter, node.following, node.name)
        inner = self.session.rewriter(wires.graph)
        first = writer_at(self.model, inner, next(iter(wires.graph.nodes), None), node.name)
        last = writer_at(self.model, inner, None, node.name)
        for output in leaving:
            wires.change_output(output, rewriter, partial(_cast, after, element_of(output.value)))
        for entry in entering:
            self._carry_in(entry, outside, first)
        # Use one cast for a state and for all outputs that return the state.
        made: dict[Value, Value] = {}

        def carried_out(value: Value) -> Value:
            if _is_narrow(value) and value not in made:
                made[value] = _cast(last, CARRIERS[element_of(value)], value)
            return made.get(value, value)

        for entry in wires.states:
            if entry.result is not None:
                entry.result = carried_out(entry.result)
        for output in leaving:
            output.value = carried_out(output.value)
        wires.replace(node.op, rewriter)

    def _carry_in(self, entering: Entering, outside: NodeWriter, first: NodeWriter) -> None:
        """Cast the outer value to bytes, and cast the body parameter back for its consumers."""
        parameter = entering.parameter
        narrow = element_of(parameter)
        entering.outer = _cast(outside, CARRIERS[narrow], entering.outer)
        readers = list(parameter.uses)
        parameter.type = TensorType(CARRIERS[narrow], shape_of(parameter))
        back = _cast(first, narrow, parameter)
        for user, position in readers:
            first.rewriter.set_input(user, position, back)


def _is_narrow(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.element in TINY_INTEGERS


def _cast(w: NodeWriter, element: ElementType, value: Value) -> Value:
    return w(Cast6(element), value)
