"""OVN142: a Concat of a loop output with itself."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.plugin import joined_repeatedly
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Negative,
)
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["ConcatOfOneLoopOutput"]


class ConcatOfOneLoopOutput(
    Fault,
    code="OVN142",
    engine="openvino",
    title="A Concat of a loop output with itself",
    effect=Effect.STALE,
    minimal=False,
    fix="Let the Concat read Maximum(y, y).",
    avoided_by=("loop_outputs",),
):
    """A Concat of a loop output with itself.

    What happens:
        In requests other than the first, only one part of the result has the values of the current
        inference; the others have those of an earlier one, or memory that nothing has written. With
        one request for all inferences, as in the conformance suite, the results are right.
    Where:
        A Concat gets an output of a Loop or TensorIterator more than once, directly or through
        reshapes and other Concats. The output has a known size, but another output or an input of
        the loop has an unknown one.
    What irloop does:
        Conversion to IR and `transform` let the Concat read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            if joined_repeatedly(value):
                yield f"a Concat gets output {value.index} more than once"


@ConcatOfOneLoopOutput.case(
    "openvino_loop_concat_of_one_output",
    "IR: rare forms",
    "OpenVINO Concat-1",
    "The inputs may be any values, also one value several times.",
    run([1, [[1, 2]]], [[[-1, -2]], [[-1, -2, -1, -2]]]),
    run([2, [[3, 4]]], [[[-3, -4], [3, 4]], [[3, 4, 3, 4]]]),
    run([1, [[5, 6]]], [[[-5, -6]], [[-5, -6, -5, -6]]]),
    run([3, [[7, 8]]], [[[-7, -8], [7, 8], [-7, -8]], [[-7, -8, -7, -8]]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=ElementType.I64))
    state = loop.state(m.input("x", 1, 2))
    loop.carry(state, loop(Negative(), state))
    loop.last_of(state)
    loop.joined(loop(Negative(), state), 0)
    last, joined = loop.done()
    return m.done(joined, m(Concat(1), last, last))
