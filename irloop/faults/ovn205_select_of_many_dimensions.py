"""OVN205: a Select of more than five dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Greater, Select
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.openvino.shape import Broadcast3, Reshape
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SelectOfManyDimensions"]

#: Maximum rank of a Select in OpenVINO 2021.4.
_MOST = 5


class SelectOfManyDimensions(
    Fault,
    code="OVN205",
    engine="openvino",
    title="A Select of more than five dimensions",
    effect=Effect.CRASH,
    fix="irloop convert --target openvino-2021.4",
    on_target=True,
):
    """A Select of more than five dimensions.

    What happens:
        The CPU plugin of OpenVINO 2021.4 crashes the process when it runs the model.
    Where:
        A Select whose output has six dimensions or more.
    What irloop does:
        With --target openvino-2021.4, conversion flattens the operands of the Select to one
        dimension.
    """

    operations = (Select,)

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, Select) and (shape_of(node.output).rank or 0) > _MOST:
            yield f"Select {node.name!r} has more than five dimensions"

    def is_repaired(self, node: Node) -> bool:
        """Return whether all sizes are known, and the operands are broadcast as in NumPy."""
        if not super().is_repaired(node) or not isinstance(node.op, Select) or node.op.is_pdpd:
            return False
        values = [*node.inputs, node.output]
        return all(item is not None and shape_of(item).is_static for item in values)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Flatten the operands of a Select.

        Given::

            y = Select(c, x, z)    six dimensions, all sizes known

        Result::

            y = Reshape(Select(Reshape(c, -1), Reshape(x, -1), Reshape(z, -1)), ...)

        Operands whose shape differs from the output's are broadcast first; one-element operands are
        not.
        """
        dims = list(shape_of(node.output).static() or ())
        flat = [_flat(w, value, dims) for value in node.inputs if value is not None]
        chosen = w(Select(), *flat)
        whole = w(Reshape(), chosen, w.constant(dims))
        w.rewriter.replace_node(node, [whole])


def _flat(w: NodeWriter, value: Value, dims: list[int]) -> Value:
    """Reshape an operand of a Select to one dimension, so that it fits the flattened output.

    `dims` are the sizes of the output. The result for a value of one element has the shape [1].
    """
    shape = shape_of(value)
    if shape.count() != 1 and list(shape.static() or ()) != dims:
        value = w(Broadcast3(), value, w.constant(dims))
    return w(Reshape(), value, w.constant([-1]))


@SelectOfManyDimensions.case(
    "select_of_many_dimensions",
    "IR: rare forms",
    "OpenVINO Select-1",
    "Where the condition is true, the output has the elements of the second input.",
    run([[[[[[[1, -2]]]]]]], [[[[[[[1, 2]]]]]]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1, 1, 1, 1, 1, 2)
    positive = m(Greater(), x, m.constant(0))
    return m.done(m(Select(), positive, x, m(Negative(), x)))
