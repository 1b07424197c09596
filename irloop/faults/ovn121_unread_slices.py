"""OVN121: a TensorIterator whose slices nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import counted_by_unread_ports
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Sliced
from irloop.graph.model import Model, Node

__all__ = ["UnreadSlices"]


class UnreadSlices(
    Fault,
    code="OVN121",
    engine="openvino",
    title="A TensorIterator whose slices nothing reads",
    effect=Effect.WRONG,
    passes=("tensor_iterator_to_loop",),
    avoided_by=("unread_slices",),
):
    """A TensorIterator whose slices nothing reads.

    What happens:
        The plugin removes the sliced input, and with it the trip count: the body runs once.
    Where:
        No operation in the body of a TensorIterator reads a slice, or those that read one have no
        effect on the outputs of the model.
    What irloop does:
        Conversion to IR and `transform` write a Loop whose trip count is the number of slices.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in counted_by_unread_ports(node)[:1]:
            if isinstance(port, Sliced):
                yield f"nothing in the body reads the slices of input {port.external}"


@UnreadSlices.case(
    "iterator_unread_slices",
    "IR: rare forms",
    "OpenVINO TensorIterator-1",
    "The number of iterations follows from the slices and from the joined outputs.",
    run([[[1, 2], [3, 4], [5, 6]], [[10, 20]]], [[[13, 26]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", 3, 2), m.input("y", 1, 2)
    loop = m.tensor_iterator()
    loop.slice(x, 0)
    state = loop.state(y)
    total = loop(Add(), state, loop.constant([[1, 2]]))
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())
