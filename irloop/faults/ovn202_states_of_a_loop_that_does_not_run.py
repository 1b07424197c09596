"""OVN202: the states of a Loop that runs zero times."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.ranges import may_not_run
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import LastValue
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["StatesOfALoopThatDoesNotRun"]


class StatesOfALoopThatDoesNotRun(
    Fault,
    code="OVN202",
    engine="openvino",
    title="The states of a Loop that runs zero times",
    effect=Effect.WRONG,
    passes=("choose_initial_states",),
    fix="irloop convert --target openvino-VERSION, and --shape if the states have unknown sizes",
    avoided_by=("initial_states",),
    on_target=True,
):
    """The states of a Loop that runs zero times.

    What happens:
        OpenVINO returns values of an earlier inference instead of the initial values, or zeros
        (2021.4).
    Where:
        A Loop that may run zero times has states that are outputs.
    What irloop does:
        With a --target that has the fault, conversion selects the initial states, if their shapes
        are static.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not may_not_run(node):
            return
        ports = node.body().ports
        states = {port.result for port in ports.carried}
        for port in ports.outputs:
            if not isinstance(port, LastValue) or port.result not in states:
                continue
            if any(not isinstance(user.op, Select) for user, _ in node.outputs[port.external].uses):
                yield f"output {port.external} is a state, and the loop may run zero times"


@StatesOfALoopThatDoesNotRun.case(
    "openvino_loop_starts_or_not",
    "Loop-5: trip count and condition",
    "OpenVINO Loop-5",
    "The execution condition specifies whether to run the first loop iteration or not.",
    run([True, [1]], [[4]]),
    run([False, [3]], [[3]]),
    run([True, [5]], [[20]]),
)
def smallest() -> Model:
    m = IrModel()
    go, x = m.input("go", element=ElementType.BOOLEAN), m.input("x", 1)
    loop = m.loop(m.constant(2, ElementType.I64), go)
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    return m.done(*loop.done())
