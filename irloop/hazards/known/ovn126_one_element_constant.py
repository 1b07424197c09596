"""OVN126: a one-element constant with more dimensions than the other operand."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import gather, reorder, shape
from irloop.dialects.openvino.elementwise import Arithmetic
from irloop.dialects.openvino.reduction import Reduction
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import brings_dimensions

__all__ = ["OneElementConstant"]

#: Operations that the plugin moves behind the arithmetic that reads their result.
MOVED = (
    gather.Gather,
    gather.Gather7,
    gather.Gather8,
    shape.Squeeze,
    shape.Squeeze15,
    shape.Reshape,
    reorder.Roll,
    Reduction,
)


class OneElementConstant(
    Hazard,
    code="OVN126",
    engine="openvino",
    versions=("2026.4.1",),
    title="A one-element constant with more dimensions than the other operand",
    effect=Effect.WRONG,
    case="one_element_constant",
    fix="Make the constant a scalar, and add the dimensions by an Unsqueeze.",
):
    """A one-element constant with more dimensions than the other operand.

    What happens:
        An elementwise operation reads the constant and the result of a Gather, Squeeze, Reshape,
        Roll or reduction. The plugin swaps the two operations: it computes the elementwise one
        first, and the dimensions that the constant adds are lost.
    Where:
        The second operand of an arithmetic operation is a one-element constant with more dimensions
        than the first operand, which is the result of a Gather, Squeeze, Reshape, Roll or
        reduction.
    What irloop does:
        Conversion to IR computes with a scalar and adds the dimensions by an Unsqueeze.
    """

    operations = (Arithmetic,)

    def find(self, node: Node) -> Iterator[str]:
        if not brings_dimensions(node):
            return
        left, right = node.inputs[0], node.inputs[1]
        if left is None or right is None or not isinstance(right.producer.op, Constant):
            return
        if isinstance(left.producer.op, MOVED):
            yield f"only the constant gives the result of {node.name!r} all its dimensions"
