"""OVN105: slices of a part of an axis."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Sliced
from irloop.graph.model import Model, Node

__all__ = ["PartialRange"]


class PartialRange(
    Fault,
    code="OVN105",
    engine="openvino",
    title="Slices of a part of an axis",
    effect=Effect.WRONG,
    rule="IRL619",
    passes=("canonical_ports",),
):
    """Slices of a part of an axis.

    What happens:
        The range changes only the trip count: the first slice is still the first of the axis (the
        last, if the axis is sliced backwards).
    Where:
        A sliced input has a start or end other than 0 and -1 (or -1 and 0 backwards).
    What irloop does:
        Conversion to IR, and the pass canonical_ports, slice the tensor before the loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.TensorIterator):
            return
        for port in node.body().ports.inputs:
            if isinstance(port, Sliced) and (port.start, port.end) not in ((0, -1), (-1, 0)):
                yield f"input {port.external} is sliced from {port.start} to {port.end}"


@PartialRange.case(
    "iterator_from_the_second_slice",
    "TensorIterator: slices",
    "OpenVINO TensorIterator-1",
    (
        "start is an index where the iteration starts from. Negative value means counting indexes"
        " from the end."
    ),
    # elements 1 to 4: (((2)*2 + 3)*2 + 4)*2 + 5 = 41
    run([[[1], [2], [3], [4], [5]], [[0]]], [[[41]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, h = m.input("x", 5, 1), m.input("h", 1, 1)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0, 1, -1), loop.state(h)
    total = loop(Add(), loop(Add(), state, state), part)
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())
