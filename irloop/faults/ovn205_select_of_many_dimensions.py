"""OVN205: a Select of more than five dimensions."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.plugin import selects_many_dimensions
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Greater, Select
from irloop.dialects.openvino.elementwise import Negative
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node

__all__ = ["SelectOfManyDimensions"]


class SelectOfManyDimensions(
    Fault,
    code="OVN205",
    engine="openvino",
    measured=("2021.4.2",),
    title="A Select of more than five dimensions",
    effect=Effect.CRASH,
    fix="irloop convert --target openvino-2021.4",
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
        if selects_many_dimensions(node):
            yield f"Select {node.name!r} has more than five dimensions"


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
