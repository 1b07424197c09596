"""OVN137: the iteration number comes after a body parameter that OpenVINO removes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.live_values import is_live
from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import Greater
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Abs,
    Add,
    Multiply,
    Negative,
)
from irloop.dialects.wires import branch_ports
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Body, Model, Node
from irloop.graph.types import ElementType

__all__ = ["ParameterDroppedBeforeIteration"]


class ParameterDroppedBeforeIteration(
    Fault,
    code="OVN137",
    engine="openvino",
    title="The iteration number comes after a body parameter that OpenVINO removes",
    effect=Effect.WRONG,
    fix="irloop transform --pass canonical_ports",
    avoided_by=("runnable_ports",),
):
    """The iteration number comes after a body parameter that OpenVINO removes.

    What happens:
        OpenVINO removes the parameter, but the loop keeps the old position of the iteration number.
        The next parameter then receives the number. If there is none, or if it has another type or
        shape, OpenVINO refuses the model or the inference.
    Where:
        In the body of a Loop, the iteration number comes after a parameter that goes only to nested
        loops and branches, none of which reads it. OpenVINO's optimisations may turn any parameter
        into such a parameter.
    What irloop does:
        Conversion to IR and `transform` let the iteration number be the first parameter.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for parameter in dropped_before_iteration(node) if is_loop(node) else ():
            yield f"parameter {parameter} goes only to nested bodies that do not read it"


def dropped_before_iteration(node: Node) -> list[int]:
    """Return the positions of removed parameters that precede the iteration number of a loop.

    The positions are those in the body of the loop `node`. OpenVINO removes a body parameter on
    which no model output depends, even if a nested loop or If takes the parameter as an input. Only
    parameters that a nested loop or If takes are listed. For example, let parameter 0 be an input
    of a nested loop whose body does not read it. If parameter 1 is the iteration number, the result
    is [0]. Without an iteration number, the list is empty.
    """
    body = node.body()
    iteration = body.ports.iteration
    if iteration is None:
        return []
    before = enumerate(body.graph.inputs[:iteration])
    return [
        at
        for at, value in before
        if any(user.bodies for user, _ in value.uses) and not is_live(value)
    ]


@ParameterDroppedBeforeIteration.case(
    "openvino_loop_dropped_before_iteration",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "The iteration number may be any parameter of the body, whatever the others are.",
    # |x|, then -|x| + 10, then -(-|x| + 10) + 2 * 10.
    run([3, 7, [1, -2], 10], [[11, 12]]),
    run([0, 7, [4, -5], 10], [[4, -5]]),
    run([2, 7, [1, -2], 100], [[99, 98]]),
)
def smallest(*, follows: bool = True) -> Model:
    """Make a Loop whose first body parameter enters an If, but neither branch reads it.

    The parameter of the iteration number comes later. With `follows`, one more parameter comes
    after that, for the model input `scale`; otherwise the scale is a constant in the body.
    """
    m = IrModel()
    loop = m.loop(m.input("n", element=ElementType.I64))
    offset, state = (
        loop.invariant(m.input("offset", element=ElementType.I64)),
        loop.state(m.input("x", 2)),
    )
    number = loop.iteration()
    scale = (
        loop.invariant(m.input("scale", element=ElementType.I64))
        if follows
        else loop.constant(10, ElementType.I64)
    )
    bodies = []
    for label, op in (("then", Negative()), ("else", Abs())):
        inner = loop.body.nested(label)
        inner.parameter("offset", offset.type)
        given = inner.parameter("given", state.type)
        inner.result(inner(op, given), inner.names.fresh("result"))
        bodies.append(Body(label, inner.graph, branch_ports((1, 2), 1)))
    later = loop(Greater(), number, loop.constant(0, ElementType.I64))
    node = loop.body.emit(ov.If(), later, offset, state, n_outputs=1, bodies=tuple(bodies))
    addend = loop(Convert(ElementType.F32), loop(Multiply(), number, scale))
    loop.carry(state, loop(Add(), node.output, addend))
    loop.last_of(state)
    return m.done(*loop.done())
