"""OVN148: a constant first condition is mapped into the body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import number_of
from irloop.building.ir_model import IrModel, with_input_ports
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Invariant
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ConstantConditionEntersTheBody"]


class ConstantConditionEntersTheBody(
    Fault,
    code="OVN148",
    engine="openvino",
    title="A constant first condition is mapped into the body",
    effect=Effect.REFUSAL,
    fix="Map a copy of the condition.",
    avoided_by=("runnable_ports",),
):
    """A constant first condition is mapped into the body.

    What happens:
        OpenVINO moves constants into bodies, and removes the input of the Loop that brought them.
        Here this input is the condition, and the next input takes its place. If there is no next
        input (`node index is out of range`), or if the next input is not boolean, the model is
        refused. If it is boolean, it decides whether the Loop runs.
    Where:
        The port map of a Loop has an entry for input 1, and the value of input 1 is constant. The
        entry is an invariant, or a state that no iteration changes.
    What irloop does:
        Conversion to IR and `transform` map a copy of the condition.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or number_of(node.inputs[1]) is None:
            return
        if any(port.external == 1 for port in node.body().ports.inputs):
            yield "input 1, the constant condition, is mapped to a body parameter"


@ConstantConditionEntersTheBody.case(
    "openvino_loop_condition_enters_the_body",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "The port map connects each input of the operation with Parameters of the body.",
    # true is 1: 1 + 1 + 1 + 1, and nothing is added without an iteration
    run([3, [1]], [[4]]),
    run([0, [5]], [[5]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x, go = (
        m.input("n", element=ElementType.I64),
        m.input("x", 1),
        m.constant(True, ElementType.BOOLEAN),
    )
    loop = m.loop(n, go)
    state = loop.state(x)
    loop.carry(state, loop(Add(), state, loop(Convert(ElementType.F32), loop.invariant(go))))
    loop.last_of(state)
    return with_input_ports(m.done(*loop.done()), Invariant, external=1)
