"""OVN149: a size that is converted to a narrow signed type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.sizes import narrows_a_size_with_sign
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3, Squeeze, Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SizeInASignedType"]


class SizeInASignedType(
    Fault,
    code="OVN149",
    engine="openvino",
    title="A size that is converted to a narrow signed type",
    effect=Effect.REFUSAL,
    fix="Convert Squeeze(CumSum(Unsqueeze(n, 0), 0), 0), where n is the size.",
):
    """A size that is converted to a narrow signed type.

    What happens:
        OpenVINO converts the upper bound of the size, too: the bound 2^63 - 1 becomes -1, and the
        model is not compiled (Value for partial shape evaluation can't be lower than zero). A Pad
        by such a size gets a wrong output shape.
    Where:
        An element of the result of a ShapeOf, whose value is unknown, is converted to i4,
        i8 or i16. The result determines the output shape of another operation, for example
        Broadcast or Tile.
    What irloop does:
        Conversion to IR inserts a CumSum over this one size before the Convert. The CumSum does not
        change the size, and OpenVINO does not compute the bounds of its result.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if narrows_a_size_with_sign(node):
            yield f"{node.name!r} converts a size to a narrow signed type"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Copy a size by a running sum before its Convert to a narrow signed type.

        OpenVINO computes the bounds of other copies, too.

        Given::

            n = Gather(ShapeOf(x), 0, 0)    b = Convert(n, i8)    y = Convert(b, i64)

        Result::

            n = Gather(ShapeOf(x), 0, 0)    c = Squeeze(CumSum(Unsqueeze(n, 0), 0), 0)
            b = Convert(c, i8)              y = Convert(b, i64)
        """
        size = node.inputs[0]
        assert size is not None
        axis = w.constant([0])
        one = w(Unsqueeze(), size, axis)
        total = w(CumSum(), one, w.constant(0))
        w.rewriter.set_input(node, 0, w(Squeeze(), total, axis))


@SizeInASignedType.case(
    "openvino_size_in_a_signed_type",
    "IR: rare forms",
    "OpenVINO Convert-1",
    "The element of the input in another type.",
    run([[7, 8, 9]], [[2, 2, 2]]),
    run([[5]], [[2]]),
)
def smallest() -> Model:
    m = IrModel()
    size = m(
        Convert(ElementType.I64), m(Convert(ElementType.I8), m(ShapeOf3(), m.input("x", None)))
    )
    return m.done(m(Broadcast3(), m.constant(2.0), size))
