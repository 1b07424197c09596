"""OVN126: a one-element constant with more dimensions than the other operand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import (
    gather,
    reorder,
    shape,
)
from irloop.dialects.openvino.elementwise import (
    Add,
    Arithmetic,
)
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.reduction import Reduction
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

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
    Fault,
    code="OVN126",
    engine="openvino",
    title="A one-element constant with more dimensions than the other operand",
    effect=Effect.WRONG,
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

    def is_repaired(self, node: Node) -> bool:
        return brings_dimensions(node)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Use Unsqueeze for dimensions that a result has only because of a one-element constant.

        Given::

            p [] = Gather(x [3], 0)    y [1] = Add(p, Const [1])

        Result::

            p [] = Gather(x [3], 0)    q [] = Add(p, Const [])    y [1] = Unsqueeze(q, 0)
        """
        left, right = node.inputs
        assert left is not None
        assert right is not None
        known = w.rewriter.inference.constant(right)
        rank, more = shape_of(left).rank, shape_of(right).rank
        if known is None or rank is None or more is None:
            return
        number = w.constant(known.reshape(()), element_of(right))
        made = w(node.op, left, number)
        axes = w.constant(range(more - rank))
        w.rewriter.replace_node(node, [w(Unsqueeze(), made, axes)])


def brings_dimensions(node: Node) -> bool:
    """Return whether the second operand of arithmetic has one element and a higher rank."""
    if not isinstance(node.op, Arithmetic) or len(node.inputs) < 2:
        return False
    left, right = node.inputs[:2]
    if left is None or right is None:
        return False
    rank, other = shape_of(left).rank, shape_of(right).rank
    if rank is None or other is None or other <= rank:
        return False
    return shape_of(right).count() == 1


@OneElementConstant.case(
    "one_element_constant",
    "IR: rare forms",
    "OpenVINO Add-1",
    "numpy broadcasting: the output has the larger of both ranks.",
    run([[1, 2, 3]], [[4]]),
)
def smallest() -> Model:
    m = IrModel()
    part = m(
        Gather8(), m.input("x", 3), m.constant(1, ElementType.I64), m.constant(0, ElementType.I64)
    )
    return m.done(m(Add(), part, m.constant([2])))
