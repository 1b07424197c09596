"""OVN124: a loop output that is a model output and read by other operations."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.plugin import is_result, reads_earlier_memory
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Add,
    Negative,
)
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["LoopOutputIsAnOutput"]


class LoopOutputIsAnOutput(
    Fault,
    code="OVN124",
    engine="openvino",
    title="A loop output that is a model output and read by other operations",
    effect=Effect.STALE,
    minimal=False,
    fix="Let the other operations read Maximum(y, y), or use one inference request.",
    avoided_by=("loop_outputs",),
):
    """A loop output that is a model output and read by other operations.

    What happens:
        The output has different memory in each inference request, but SoftMax and MatMul keep
        reading the memory of the first request: they compute with values of an earlier inference.
        With one request for all inferences, as in the conformance suite, the results are right.
    Where:
        An output of unknown size of a Loop or TensorIterator is an output of the model. An
        operation other than ShapeOf, Slice or the maximum of the output with itself reads it, too.
    What irloop does:
        Conversion to IR lets the other operations read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            if is_result(value) and reads_earlier_memory(value):
                yield f"output {value.index} is an output of the model and read by others"


@LoopOutputIsAnOutput.case(
    "openvino_loop_is_an_output",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "Values of all iterations are concatenated; what follows the Loop reads the result.",
    # Rows -v and -2 v; the product of the rows with themselves is 5 v v'.
    *(
        run(
            [[a, b], 2],
            [[[-a, -b], [-2 * a, -2 * b]], [[5 * a * a, 5 * a * b], [5 * a * b, 5 * b * b]]],
        )
        for a, b in ((1, 2), (2, 5), (3, -1), (4, 7))
    ),
)
def smallest() -> Model:
    m = IrModel()
    v, n = m.input("v", 2), m.input("n", element=ElementType.I64)
    loop = m.loop(n)
    state = loop.state(v)
    loop.carry(state, loop(Add(), state, loop.invariant(v)))
    row = loop(Unsqueeze(), loop(Negative(), state), loop.constant([0], ElementType.I64))
    loop.joined(row, 0)
    (rows,) = loop.done()
    return m.done(rows, m(MatMul(transpose_a=True), rows, rows))
