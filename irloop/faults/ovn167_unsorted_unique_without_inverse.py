"""OVN167: an unsorted Unique without inverse indices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.search import Unique
from irloop.dialects.openvino.shape import Reshape
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["UnsortedUniqueWithoutInverse"]


class UnsortedUniqueWithoutInverse(
    Fault,
    code="OVN167",
    engine="openvino",
    title="An unsorted Unique whose inverse indices are not used",
    effect=Effect.WRONG,
    fix="Reshape the data to a list, and give the Unique the axis 0.",
):
    """An unsorted Unique whose inverse indices are not used.

    What happens:
        The CPU plugin returns wrong distinct values, first indices and counts: of [0, 2, 0, 1, 1]
        it returns the values [0, 0, 0] and the counts [1, 1, 1].
    Where:
        A Unique without an axis, with sorted=false, of which nothing reads output 2.
    What irloop does:
        Conversion to IR reshapes the data to a list, and writes a Unique along axis 0.
    """

    operations = (Unique,)

    def find(self, node: Node) -> Iterator[str]:
        if groups_without_inverse(node):
            yield f"nothing reads the inverse indices of {node.name!r}"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace an unsorted Unique of single elements by one along axis 0 of the flat data.

        Given::

            v, i, _, n = Unique(x)  {sorted=False}

        Result::

            f = Reshape(x, [-1])    v, i, _, n = Unique(f, 0)  {sorted=False}

        Elements of 8 bits are converted to i32 first, because OpenVINO compares them wrongly along
        an axis."""
        data = node.inputs[0]
        assert data is not None
        element = element_of(data)
        is_narrow = element is not ElementType.DYNAMIC and element.bits <= 8
        wide = w(Convert(ElementType.I32), data) if is_narrow else data
        flat = w(Reshape(special_zero=False), wide, w.constant([-1]))
        axis = w.constant(0)
        name = f"{node.name}/Unique"
        made = w.rewriter.insert(node.op, (flat, axis), before=node, name=name, n_outputs=4)
        values, *others = made.outputs
        if is_narrow:
            values = w(Convert(element), values)
        w.rewriter.replace_node(node, [values, *others])


def groups_without_inverse(node: Node) -> bool:
    """Return whether a node is an unsorted Unique of single elements without inverse indices.

    The inverse indices (output 2) count as missing if nothing reads them.
    """
    if not isinstance(node.op, Unique) or node.op.sorted or node.inputs[1:] not in ((), (None,)):
        return False
    return not node.outputs[2].is_used


@UnsortedUniqueWithoutInverse.case(
    "unsorted_unique_without_inverse",
    "IR: rare forms",
    "OpenVINO Unique-10",
    "sorted=false: the distinct elements have the order in which they occur.",
    run([[5, 7, 5, 6, 6]], [[5, 7, 6], [2, 1, 2]]),
    run([[3, 3]], [[3], [2]]),
)
def smallest() -> Model:
    m = IrModel()
    node = m.builder.emit(Unique(sorted=False), m.input("x", None), n_outputs=4)
    return m.done(node.outputs[0], node.outputs[3])
