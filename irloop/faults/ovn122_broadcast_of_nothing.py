"""OVN122: a Broadcast whose result has no element."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.live_values import has_no_element
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.shape import Broadcast, Broadcast3, ShapeOf3
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["BroadcastOfNothing"]


class BroadcastOfNothing(
    Fault,
    code="OVN122",
    engine="openvino",
    title="A Broadcast whose result has no element",
    effect=Effect.CRASH,
    fix="Replace the Broadcast by a constant of its shape.",
    avoided_by=("empty_values",),
):
    """A Broadcast whose result has no element.

    What happens:
        The process crashes with a division by zero (SIGFPE) while the model is compiled or run.
    Where:
        The result of a Broadcast has a known shape with a dimension of 0.
    What irloop does:
        Conversion to IR stores such values as constants.
    """

    operations = (Broadcast, Broadcast3)

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, Broadcast | Broadcast3) and has_no_element(node.output):
            yield f"the result of {node.name!r} has no element"


@BroadcastOfNothing.case(
    "broadcast_of_nothing",
    "IR: rare forms",
    "OpenVINO Broadcast-3",
    "bidirectional: the output has the sizes that both shapes broadcast to; 0 and 1 give 0.",
    run([1], [empty(2, 0)]),
)
def smallest() -> Model:
    m = IrModel()
    sizes = m(ShapeOf3(ElementType.I64), m.input("x", element=ElementType.I64))
    return m.done(m(Broadcast3(mode="bidirectional"), sizes, m.constant([2, 1], ElementType.I64)))
