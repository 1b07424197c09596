"""OVN165: a ScatterElementsUpdate whose indices are broadcast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import number_of
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Maximum,
)
from irloop.dialects.openvino.scatter import ScatterElementsUpdate
from irloop.dialects.openvino.shape import Broadcast, Broadcast3, ShapeOf3
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ScatterOfBroadcastIndices"]


class ScatterOfBroadcastIndices(
    Fault,
    code="OVN165",
    engine="openvino",
    title="A ScatterElementsUpdate whose indices are broadcast",
    effect=Effect.REFUSAL,
    fix="Put a Maximum of the indices with themselves in front of the ScatterElementsUpdate.",
):
    """A ScatterElementsUpdate whose indices are broadcast.

    What happens:
        OpenVINO replaces the operation by a ScatterUpdate with the indices before the Broadcast,
        which are too few for the updates. It refuses the model: do not have matched tensor shape
        relationship, or: updates rank is expected to be another one.
    Where:
        The indices of a ScatterElementsUpdate of opset3 are the output of a Broadcast of one index,
        the size of this output along the axis is not known, and its other sizes are.
    What irloop does:
        Conversion to IR copies the indices. It does so for every Broadcast whose size along the
        axis is not known.
    """

    operations = (ScatterElementsUpdate,)

    def find(self, node: Node) -> Iterator[str]:
        if scatters_by_a_broadcast(node):
            yield f"the indices of {node.name!r} are broadcast"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Copy the indices of a ScatterElementsUpdate if they are the output of a Broadcast.

        Given::

            i = Broadcast(Const, shape)    y = ScatterElementsUpdate(x, i, u, 0)

        Result::

            i = Broadcast(Const, shape)    y = ScatterElementsUpdate(x, Maximum(i, i), u, 0)
        """
        indices = node.inputs[1]
        assert indices is not None  # the pattern has found its producer
        copy = w(Maximum(), indices, indices)
        w.rewriter.set_input(node, 1, copy)


def scatters_by_a_broadcast(node: Node) -> bool:
    """Return whether a node is a ScatterElementsUpdate-3 whose indices OpenVINO does not broadcast.

    The indices are the output of a Broadcast whose size along the scattered axis is not known.
    """
    if not isinstance(node.op, ScatterElementsUpdate):
        return False
    indices = node.inputs[1]
    if indices is None or not isinstance(indices.producer.op, Broadcast | Broadcast3):
        return False
    dims, axis = shape_of(indices).dims, number_of(node.inputs[3])
    if dims is None or axis is None or not -len(dims) <= axis < len(dims):
        return True
    return not isinstance(dims[axis], int)


@ScatterOfBroadcastIndices.case(
    "scatter_of_broadcast_indices",
    "IR: rare forms",
    "OpenVINO ScatterElementsUpdate-3",
    "indices: the places along the axis, whatever computes them.",
    run([[1, 2, 3], [7]], [[1, 7, 3]]),
    run([[4, 5], [6]], [[4, 6]]),
)
def smallest() -> Model:
    m = IrModel()
    x, updates = m.input("x", None), m.input("updates", None)
    indices = m(Broadcast3(), m.constant(1, ElementType.I64), m(ShapeOf3(ElementType.I64), updates))
    return m.done(m(ScatterElementsUpdate(), x, indices, updates, m.constant(0, ElementType.I64)))
