"""OVN168: a NonZero that depends on the size of a state whose size changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.analysis.states import resizing_states, size_reaches_a_nonzero
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Add,
    Subtract,
)
from irloop.dialects.openvino.generate import Range4
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import ShapeOf3, Squeeze, Tile, Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["NonzeroOfAChangingSize"]


class NonzeroOfAChangingSize(
    Fault,
    code="OVN168",
    engine="openvino",
    title="A NonZero that depends on the size of a state whose size changes",
    effect=Effect.REFUSAL,
    fix="Repeat the initial value of the state once by a Tile whose repeats are computed.",
    avoided_by=("growing_states",),
):
    """A NonZero that depends on the size of a state whose size changes.

    What happens:
        OpenVINO computes the NonZero from the initial size of the state, and keeps the result when
        it finds out that the size changes. It refuses the model: the check same_scheme failed.
    Where:
        A loop has a state whose initial size is known and whose later sizes differ. The input of a
        NonZero in its body follows from the size of the state alone. This was measured for next
        values that are repeated 1 + (n - n) times by a Tile, as irloop writes them.
    What irloop does:
        Conversion to IR gives the initial value a size that the plugin does not know. It does so if
        the input of a NonZero depends on the size in any way.
    """

    only_with_body = True
    beside = (NonZero,)

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        for state in resizing_states(node):
            own = state.parameter
            if size_reaches_a_nonzero(own):
                yield f"state {own.name!r} may change its size, and a NonZero depends on its size"


@NonzeroOfAChangingSize.case(
    "openvino_loop_nonzero_of_a_changing_size",
    "IR: rare forms",
    "OpenVINO NonZero-3",
    "The indices of the elements that are not zero, whatever computes them.",
    # The numbers below the size, without 0.
    run([1, [7, 8, 9]], [[1, 2]]),
    run([2, [7, 8, 9]], [[1]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=ElementType.I64))
    state = loop.state(m.input("x", 3))
    start, step, front = (loop.constant(value, ElementType.I64) for value in (0, 1, [0]))
    size = loop(Squeeze(), loop(ShapeOf3(ElementType.I64), state), front)
    places = loop(
        NonZero(ElementType.I64), loop(Range4(output_type=ElementType.I64), start, size, step)
    )
    numbers = loop(Convert(ElementType.F32), loop(Squeeze(), places, front))
    number = loop(Unsqueeze(), loop.iteration(), front)
    nothing = loop(Subtract(), number, number)
    loop.carry(
        state, loop(Tile(), numbers, loop(Add(), loop.constant([1], ElementType.I64), nothing))
    )
    loop.last_of(state)
    return m.done(*loop.done())
