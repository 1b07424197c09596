"""OVN163: states that exchange their values and have different sizes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop, same_shape_source
from irloop.analysis.states import changes_surely
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.wire_ends import states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

__all__ = ["ExchangedSizes"]


class ExchangedSizes(
    Fault,
    code="OVN163",
    engine="openvino",
    title="States that exchange their sizes",
    effect=Effect.WRONG,
    fix="Add a state with another size after each iteration, and let the body read it.",
    avoided_by=("moved_states",),
):
    """States that exchange their sizes.

    What happens:
        The plugin keeps the addresses of the memory of all states for the next run of the loop, if
        each state then has its initial size. If a state had another size in between, its memory has
        moved: the next inference, or the next iteration of an outer loop, reads and overwrites
        memory that is no longer in use. The results are wrong, or the process crashes.
    Where:
        States of a loop exchange their values, and their sizes are known only at run time. The
        fault occurs if the sizes differ, but each state has its initial size in the last iteration.
    What irloop does:
        Conversion to IR adds a state whose size is never the initial one after an iteration. It
        does so for every loop with a state that may grow and shrink.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        sources: dict[Value, Value] = {}
        for state in states_of(node):
            if changes_surely(state):
                return
            sources[state.parameter] = same_shape_source(state.following)
        for own, source in sources.items():
            is_exchanged = source is not own and sources.get(source) not in (None, source)
            if is_exchanged and not shape_of(own).is_static:
                yield f"state {own.name!r} takes the value of state {source.name!r}, and its size"


@ExchangedSizes.case(
    "openvino_loop_states_exchange_sizes",
    "Loop-5: states",
    "OpenVINO Loop-5",
    "Back edges transfer values from the body's outputs to its parameters of the next iteration.",
    # sums of (1, 2, 4), -(3, 5) and (1, 2, 4)
    run([3, [1, 2, 4], [3, 5]], [[7, -8, 7]]),
    run([3, [1, 2, 4], [3, 5]], [[7, -8, 7]]),
    run([3, [2, 2, 4], [3, 6]], [[8, -9, 8]]),
)
def smallest() -> Model:
    m = IrModel()
    n, x, y = m.input("n", element=ElementType.I64), m.input("x", None), m.input("y", None)
    loop = m.loop(n)
    first, second = loop.state(x), loop.state(y)
    loop.carry(first, loop(Negative(), second))
    loop.carry(second, loop(Negative(), first))
    loop.joined(loop(ReduceSum(keep_dims=True), first, loop.constant([0], ElementType.I64)), 0)
    return m.done(*loop.done())
