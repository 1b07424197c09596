"""OVN150: an output of a loop in a body, read by an operation that is not elementwise."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.analysis.plugin import is_in_loop, is_result, reads_earlier_memory
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Negative,
)
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["InnerLoopOutputMoves"]


class InnerLoopOutputMoves(
    Fault,
    code="OVN150",
    engine="openvino",
    title="An output of a loop in a body, read by an operation that is not elementwise",
    effect=Effect.STALE,
    minimal=False,
    fix="Let the operation read Maximum(y, y).",
    avoided_by=("loop_outputs",),
):
    """An output of a loop in a body, read by an operation that is not elementwise.

    What happens:
        The memory of the output moves when the outer loop runs a different number of
        iterations than in the previous inference. A SoftMax keeps reading the old memory,
        and so does the second of two operations that read the output and only change its
        shape. They compute with values of an earlier inference, or with undefined values.
    Where:
        A loop in the body of another loop has an output of unknown size, and an operation
        other than ShapeOf, Slice and elementwise ones reads it. Arithmetic with constants
        may lie between the output and this operation, because OpenVINO removes arithmetic
        that has no effect. Whether the memory moves depends on the rest of the model: it
        did when the outer loop concatenates its results along an axis other than the first.
    What irloop does:
        Conversion to IR and `transform` let the operations read a copy.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for value in node.outputs:
            readers = [] if is_result(value) else reads_earlier_memory(value)
            if is_in_loop(node) and any(not is_loop(user) for user, _ in readers):
                yield f"operations that are not elementwise read output {value.index}"


@InnerLoopOutputMoves.case(
    "openvino_inner_loop_output_is_read_by_views",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "An output of a loop in a body may be read by any operations of the body.",
    run([[[1, 2]], 3], [[[[-1, -2]] * 3], [[[-1] * 3, [-2] * 3]]]),
    run([[[3, 4]], 2], [[[[-3, -4]] * 2], [[[-3] * 2, [-4] * 2]]]),
    run([[[5, 6]], 1], [[[[-5, -6]]], [[[-5], [-6]]]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None, 2)
    outer = m.loop(m.input("n", element=ElementType.I64))
    inner = m.inside(outer).loop(outer.constant(1, ElementType.I64))
    inner.last(inner(Negative(), inner.invariant(outer.invariant(x))))
    (negative,) = inner.done()
    for axis in (1, 2):
        outer.joined(outer(Unsqueeze(), negative, outer.constant([axis], ElementType.I64)), axis)
    return m.done(*outer.done())
