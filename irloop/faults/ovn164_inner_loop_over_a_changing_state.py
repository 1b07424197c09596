"""OVN164: an inner loop whose iterations depend on a state that changes its size."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.analysis.states import reaches_a_loop, resizing_states
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.elementwise import (
    Negative,
)
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.shape import ShapeOf3, Squeeze
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["InnerLoopOverAChangingState"]


class InnerLoopOverAChangingState(
    Fault,
    code="OVN164",
    engine="openvino",
    title="An inner loop that depends on a state whose size changes",
    effect=Effect.WRONG,
    fix="Repeat the initial value of the state once by a Tile whose repeats are computed.",
    avoided_by=("growing_states",),
):
    """An inner loop that depends on a state whose size changes.

    What happens:
        OpenVINO works out how often the inner loop runs from the initial size of the state, and
        keeps that number in all iterations of the outer loop. The inference returns wrong numbers,
        or ends with an error: can not clone with new dims.
    Where:
        A Loop has a state whose initial size is known and whose later sizes differ. The trip count
        or the condition of a Loop in its body follows from the size of the state.
    What irloop does:
        Conversion to IR gives the initial value a size that the plugin does not know. It does so
        for each state whose size may change, if an inner Loop depends on the state in any way.
    """

    only_with_body = True
    beside = (Loop,)

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        for state in resizing_states(node):
            own = state.parameter
            if reaches_a_loop(own):
                yield f"state {own.name!r} may change its size, and an inner Loop depends on it"


@InnerLoopOverAChangingState.case(
    "openvino_inner_loop_over_a_growing_state",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "The trip count is an input of the Loop, which an outer body may compute.",
    # The sums of 2, 4 and 6 elements.
    run([[1, 2], 3], [[-3, -6, -9], [1, 2] * 4]),
    run([[3, 4], 1], [[-7], [3, 4] * 2]),
    run([[5, 6], 2], [[-11, -22], [5, 6] * 3]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 2)
    outer = m.loop(m.input("n", element=ElementType.I64))
    state, front = outer.state(x), outer.constant([0], ElementType.I64)
    inner = m.inside(outer).loop(outer(Squeeze(), outer(ShapeOf3(ElementType.I64), state), front))
    inner.joined(inner(Negative(), inner.slice(state, 0)), 0)
    (negative,) = inner.done()
    outer.joined(outer(ReduceSum(keep_dims=True), negative, front), 0)
    outer.carry(state, outer(Concat(0), state, outer.invariant(x)))
    outer.last_of(state)
    return m.done(*outer.done())
