"""OVN101: states that exchange their values."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop, same_memory
from irloop.analysis.shared_memory import is_copy, moving
from irloop.building.ir_model import IrModel
from irloop.dialects.wire_ends import states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["StatesExchanged"]


class StatesExchanged(
    Fault,
    code="OVN101",
    engine="openvino",
    title="States that exchange their values",
    effect=Effect.WRONG,
    rule="IRL626",
    passes=("body_barriers",),
    avoided_by=("body_copies",),
):
    """States that exchange their values.

    What happens:
        Back edges are copied one after the other into the memory of the parameters: from the second
        iteration on, one of the two values is lost.
    Where:
        A body result is a Parameter of the body, and a back edge leads from it to another Parameter
        that is read.
    What irloop does:
        Conversion to IR copies the value in the body; the pass body_barriers does so in an IR.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        overwritten = moving(node.body())
        for state in states_of(node):
            own, value = state.parameter, state.following
            held = same_memory(value)
            if held is not own and held in overwritten and not is_copy(value):
                yield f"the next value of state {own.name!r} is {held.name!r}, which also changes"


@StatesExchanged.case(
    "openvino_loop_states_exchanged",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "Back edges transfer values from the body's outputs to its parameters of the next iteration.",
    run([3, [1, 2], [3, 4]], [[3, 4], [1, 2]]),
    run([2, [1, 2], [3, 4]], [[1, 2], [3, 4]]),
)
def smallest() -> Model:
    m = IrModel()
    n, a, b = m.input("n", element=ElementType.I64), m.input("a", 2), m.input("b", 2)
    loop = m.loop(n)
    first, second = loop.state(a), loop.state(b)
    loop.carry(first, second)
    loop.carry(second, first)
    loop.last(second)
    loop.last(first)
    return m.done(*loop.done())
