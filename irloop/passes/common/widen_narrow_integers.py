"""Computes with narrow and unsigned integers in wider signed types."""

from __future__ import annotations

from irloop.dialects.openvino import convert, elementwise
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["WidenNarrowIntegers"]

#: Operations that OpenVINO 2021.4 rewrites with -x and 1/x, whatever the element type.
OPERATIONS = (
    elementwise.Divide,
    elementwise.FloorMod,
    elementwise.Minimum,
    elementwise.Mod,
    elementwise.Negative,
    elementwise.SquaredDifference,
    elementwise.Subtract,
)

#: For each type, a type that can hold each of its values and the negative of each.
WIDER = {
    ElementType.I8: ElementType.I32,
    ElementType.U8: ElementType.I32,
    ElementType.I16: ElementType.I32,
    ElementType.U16: ElementType.I32,
    ElementType.U32: ElementType.I64,
}


class WidenNarrowIntegers(NodePass):
    """Computes differences, quotients and minima of narrow integers in a wider type.

    The operands are converted to the wider type, and the results back.

    Given::

        y = x - z      (u8)

    Result::

        y = Convert(Convert(x, i32) - Convert(z, i32), u8)

    OpenVINO 2021.4 computes x - z as x + (-1 * z) and min(x, z) as -max(-x, -z) in the type itself,
    which has no -1. u64 is not widened, because no type can hold all its values and their
    negatives.
    """

    name = "widen_narrow_integers"
    dialects = frozenset({"openvino"})
    operations = OPERATIONS

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        element = element_of(node.output)
        wide = WIDER.get(element)
        if wide is None or any(value is None for value in node.inputs):
            return None
        inputs = [w(convert.Convert(wide), value) for value in node.inputs if value]
        return w(convert.Convert(element), w(node.op, *inputs))
