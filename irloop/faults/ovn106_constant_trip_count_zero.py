"""OVN106: a trip count of constant zero and a joined output."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import number_of
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Concatenated
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ConstantTripCountZero"]


class ConstantTripCountZero(
    Fault,
    code="OVN106",
    engine="openvino",
    title="A trip count of constant zero and a joined output",
    effect=Effect.CRASH,
    minimal=False,
    rule="IRL609",
    passes=("fold_trips",),
    avoided_by=("idle_loops",),
):
    """A trip count of constant zero and a joined output.

    What happens:
        The process crashes while the model is compiled (SIGFPE), or the empty output has a wrong
        shape. This was measured in larger models in 2026.4.1. The minimal model and six variants of
        it do not reproduce the fault there: their outputs are right. The variants have a state or
        none, return its last value or do not, let an operation read the output, and are compiled
        from a file or from memory.
    Where:
        The trip count of a Loop is a constant 0.
    What irloop does:
        Conversion to IR writes no loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or number_of(node.inputs[0]) != 0:
            return
        if any(isinstance(port, Concatenated) for port in node.body().ports.outputs):
            yield "the trip count is a constant 0, and an output is joined"


@ConstantTripCountZero.case(
    "openvino_loop_constant_count_zero",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "input (trip_count, true) is a for loop: for (int i = 0; i < trip_count; ++i) { ... }",
    run([[[1, 2]]], [[[1, 2]], empty(0, 2)]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(0, ElementType.I64), m.constant(True, ElementType.BOOLEAN))
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())
