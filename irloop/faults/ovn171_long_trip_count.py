"""OVN171: trip counts that need more than 32 bits."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Parameter
from irloop.graph.types import ElementType

__all__ = ["LongTripCount"]


class LongTripCount(
    Fault,
    code="OVN171",
    engine="openvino",
    title="Trip counts of more than 32 bits",
    effect=Effect.WRONG,
    fix="Give a trip count below 2^31, or -1 if only the condition ends the Loop.",
    avoided_by=("trip_counts",),
):
    """Trip counts of more than 32 bits.

    What happens:
        The plugin reads only the low 32 bits of a trip count: 2^32 means no iteration, and 2^32 + 2
        means two.
    Where:
        A model input of type i64 is the trip count of a Loop. Constant counts are read rightly.
    What irloop does:
        Conversion to IR replaces counts from 2^31 on by 2^30, which no program reaches.
    """

    operations = (Loop,)

    def find(self, node: Node) -> Iterator[str]:
        trips = node.inputs[0] if isinstance(node.op, Loop) else None
        if trips is None or element_of(trips) is not ElementType.I64:
            return
        if isinstance(trips.producer.op, Parameter) and trips.producer.owner is None:
            yield f"the model input {trips.name!r} may hold a number of 2^31 or more"


@LongTripCount.case(
    "openvino_loop_long_trip_count",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "input (trip_count, condition) runs while i < trip_count and the condition is true.",
    # The condition stops the Loop once the state is 8.
    run([2**32, [1]], [[8]]),
    run([2, [1]], [[4]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x = m.input("n", element=ElementType.I64), m.input("x", 1)
    loop = m.loop(n)
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    loop.condition(loop(Less(), double, loop.constant([8])))
    return m.done(*loop.done())
