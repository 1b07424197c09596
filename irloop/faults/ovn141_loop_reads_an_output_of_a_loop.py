"""OVN141: a loop that reads an output of another loop."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.analysis.plugin import is_in_loop, is_result, reads_earlier_memory
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Add,
    Negative,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["LoopReadsAnOutputOfALoop"]


class LoopReadsAnOutputOfALoop(
    Fault,
    code="OVN141",
    engine="openvino",
    title="A loop that reads an output of another loop",
    effect=Effect.STALE,
    minimal=False,
    fix="Let the loop read Maximum(y, y).",
    avoided_by=("loop_outputs",),
):
    """A loop that reads an output of another loop.

    What happens:
        The memory of the output moves when the sizes of other values change. A loop whose own sizes
        and trip count stay the same keeps reading the old memory: it computes with values of an
        earlier inference, or with undefined values.
    Where:
        A Loop or TensorIterator reads an output of unknown size of another Loop or TensorIterator,
        a view of it, or the result of arithmetic between it and constants. Whether the memory moves
        depends on the rest of the model.
    What irloop does:
        Conversion to IR and `transform` let the loop read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            readers = [] if is_result(value) else reads_earlier_memory(value)
            if readers and (not is_in_loop(node) or any(is_loop(user) for user, _ in readers)):
                yield f"another loop reads output {value.index}"


@LoopReadsAnOutputOfALoop.case(
    "openvino_loop_reads_a_loop",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "An input of a loop may be any value, such as an output of another loop.",
    run([[1, 2], 2], [[-3, -6]]),
    run([[4, 5], 0], [[-4, -5]]),
    run([[7, 8], 1], [[-14, -16]]),
    run([[3], 2], [[-9]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None)
    first = m.loop(m.input("n", element=ElementType.I64))
    state = first.state(x)
    first.carry(state, first(Add(), state, first.invariant(x)))
    first.last_of(state)
    second = m.loop(m.constant(1, ElementType.I64))
    second.last(second(Negative(), second.invariant(*first.done())))
    return m.done(*second.done())
