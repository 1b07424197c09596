"""OVN170: a TensorIterator whose trip count is the range of an output that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import counted_by_unread_ports
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Concatenated
from irloop.graph.model import Model, Node

__all__ = ["UnreadOutputCounts"]


class UnreadOutputCounts(
    Fault,
    code="OVN170",
    engine="openvino",
    title="A TensorIterator whose trip count is the range of an output that nothing reads",
    effect=Effect.WRONG,
    passes=("tensor_iterator_to_loop",),
    avoided_by=("unread_slices",),
):
    """A TensorIterator whose trip count is the range of an output that nothing reads.

    What happens:
        The plugin removes the output, and with it the trip count: the body runs once.
    Where:
        A TensorIterator slices no input. The range of a concatenated output, such as 0 to 4, sets
        its trip count, and no output of the model depends on that output.
    What irloop does:
        Conversion to IR and `transform` write a Loop with that trip count.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in counted_by_unread_ports(node)[:1]:
            if isinstance(port, Concatenated):
                yield (
                    f"nothing reads output {port.external}, whose range {port.start} to {port.end} "
                    "sets the trip count"
                )


@UnreadOutputCounts.case(
    "iterator_unread_output_counts",
    "IR: rare forms",
    "OpenVINO TensorIterator-1",
    "The number of iterations follows from the slices and from the joined outputs.",
    # Each of the 4 iterations of the range 0 to 4 adds 1.
    run([[[1, 2]]], [[[5, 6]]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.tensor_iterator()
    state = loop.state(m.input("x", 1, 2))
    after = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, after)
    loop.last(after)
    loop.joined(loop(Negative(), after), 0, 0, 4)
    last, _ = loop.done()
    return m.done(last)
