"""OVN115: a Loop whose inputs are all constants."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

__all__ = ["ConstantInputsOnly"]


class ConstantInputsOnly(
    Fault,
    code="OVN115",
    engine="openvino",
    title="A Loop whose inputs are all constants",
    effect=Effect.REFUSAL,
    fix="Compute the loop beforehand, or give it an input that is not a constant.",
    avoided_by=("constant_loops", "constant_branches"),
):
    """A Loop whose inputs are all constants.

    What happens:
        The model does not compile: constant folding throws (trip_count != 0).
    Where:
        Every input of a Loop is a constant. Compilation fails if the Loop runs zero times, or if a
        Loop in its body does so in some iteration; irloop reports all Loops with constant inputs
        only.
    What irloop does:
        Conversion to IR folds such a loop, or gives it an input that is not constant.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or not node.inputs:
            return
        given = [value for value in node.inputs if value is not None]
        if all(isinstance(value.producer.op, Constant) for value in given):
            yield "every input of the loop is a constant"


@ConstantInputsOnly.case(
    "openvino_loop_of_constants",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "input (trip_count, true) is a for loop: for (int i = 0; i < trip_count; ++i) { ... }",
    # doubled 0 + 1 + 2 times: 8
    run([[5]], [[40]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1)
    outer = m.loop(m.constant(3, ElementType.I64))
    state, number = outer.state(m.constant([1])), outer.iteration()
    inner = m.inside(outer).loop(number)
    held = inner.state(state)
    inner.carry(held, inner(Add(), held, held))
    inner.last_of(held)
    outer.carry(state, *inner.done())
    outer.last_of(state)
    return m.done(m(Multiply(), *outer.done(), x))
