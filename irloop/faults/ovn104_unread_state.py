"""OVN104: a state that the body does not read, in a loop that does not run."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.live_values import is_live
from irloop.analysis.ranges import may_not_run
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.wire_ends import Inward, outward, states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import LastValue
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["UnreadState"]


class UnreadState(
    Fault,
    code="OVN104",
    engine="openvino",
    title="A state that the body does not read, in a loop that does not run",
    effect=Effect.WRONG,
    fix="Let the body read the state.",
    avoided_by=("unread_states",),
):
    """A state that the body does not read, in a loop that does not run.

    What happens:
        If the loop runs zero times, the output for the state is empty, or has the value of an
        earlier inference, instead of the initial value.
    Where:
        A Loop may run zero times. In its body, nothing reads the Parameter of a state, or the
        operations that read it have no effect on an output of the model.
    What irloop does:
        Conversion to IR changes the body so that it reads the state.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not may_not_run(node):
            return
        for state in states_of(node):
            own = state.parameter
            if not is_live(own, sizes_count=False) and _is_shown(node, state):
                yield f"the body does not read its state {own.name!r}"


def _is_shown(node: Node, state: Inward) -> bool:
    """Return whether a model output depends on the last value of a state."""
    return any(
        isinstance(item.port, LastValue) and item.result is state.result and is_live(item.output)
        for item in outward(node, node.body())
    )


@UnreadState.case(
    "openvino_loop_unread_state_without_iteration",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "Back edges transfer values from the body's outputs to its parameters of the next iteration.",
    run([0, [1, 2, 3]], [[1, 2, 3]]),
    run([2, [1, 2, 3]], [[-1, -2, -3]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x = m.input("n", element=ElementType.I64), m.input("x", None)
    loop = m.loop(n)
    state, fixed = loop.state(x), loop.invariant(x)
    value = loop(Negative(), fixed)
    loop.carry(state, value)
    loop.last(value)
    return m.done(*loop.done())
