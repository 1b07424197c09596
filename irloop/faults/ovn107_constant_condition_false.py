"""OVN107: an initial condition of constant false."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import number_of
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ConstantConditionFalse"]


class ConstantConditionFalse(
    Fault,
    code="OVN107",
    engine="openvino",
    title="An initial condition of constant false",
    effect=Effect.WRONG,
    rule="IRL609",
    passes=("fold_trips",),
    avoided_by=("idle_loops",),
):
    """An initial condition of constant false.

    What happens:
        The last values of the states are lost.
    Where:
        The condition input of a Loop is a constant false.
    What irloop does:
        Conversion to IR writes no loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, ov.Loop) and number_of(node.inputs[1]) == 0:
            yield "the initial condition is a constant false"


@ConstantConditionFalse.case(
    "openvino_loop_constant_condition_false",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "The execution condition specifies whether to run the first loop iteration or not.",
    run([[[1, 2]]], [[[1, 2]], empty(0, 2)]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(3, ElementType.I64), m.constant(False, ElementType.BOOLEAN))
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())
