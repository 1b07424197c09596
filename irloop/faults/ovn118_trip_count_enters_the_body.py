"""OVN118: the trip count is mapped into the body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel, with_input_ports
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Invariant
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["TripCountEntersTheBody"]


class TripCountEntersTheBody(
    Fault,
    code="OVN118",
    engine="openvino",
    title="The trip count is mapped into the body",
    effect=Effect.REFUSAL,
    minimal=False,
    fix="Map a copy of the trip count.",
    avoided_by=("runnable_ports",),
):
    """The trip count is mapped into the body.

    What happens:
        Some larger models do not compile, because the plugin expects an i32 for the trip count
        (measured in 2026.4.1). The minimal model compiles in 2026.4.1, and so do Loops that
        concatenate the trip count, add it to a state or compare with it (i32 and i64); their
        results are right.
    Where:
        The port map of a Loop has an entry for input 0.
    What irloop does:
        Conversion to IR gives the body a copy of the trip count.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop):
            return
        if any(port.external == 0 for port in node.body().ports.inputs):
            yield "input 0, the trip count, is mapped to a body parameter"


@TripCountEntersTheBody.case(
    "openvino_loop_count_enters_the_body",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "The port map connects each input of the operation with Parameters of the body.",
    # `last` returns the state with which the last iteration began: 1 + 3 + 3
    run([3, [1]], [[7]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x = m.input("n", element=ElementType.I64), m.input("x", 1)
    loop = m.loop(n)
    state = loop.state(x)
    loop.carry(state, loop(Add(), state, loop(Convert(ElementType.F32), loop.invariant(n))))
    loop.last(state)
    return with_input_ports(m.done(*loop.done()), Invariant, external=0)
