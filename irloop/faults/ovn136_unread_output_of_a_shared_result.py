"""OVN136: an unread loop output that shares its body result with another output."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.live_values import is_live
from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Add,
    Negative,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["UnreadOutputOfASharedResult"]


class UnreadOutputOfASharedResult(
    Fault,
    code="OVN136",
    engine="openvino",
    title="An unread loop output that shares its body result with another output",
    effect=Effect.WRONG,
    fix="irloop transform --pass canonical_ports",
    avoided_by=("runnable_ports",),
):
    """An unread loop output that shares its body result with another output.

    What happens:
        OpenVINO removes the unread output and with it the result of the body. The other output then
        has the values of the next result. If these differ in type or shape, OpenVINO refuses the
        model or the inference.
    Where:
        Two or more outputs of a Loop or TensorIterator have the same result of the body, as last
        value or concatenated, and nothing reads one of them.
    What irloop does:
        Conversion to IR writes no such outputs, and `transform` removes them.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for output in unread_beside_shared(node) if is_loop(node) else ():
            yield f"nothing reads output {output}, and another output has the same body result"


def unread_beside_shared(node: Node) -> list[int]:
    """List the positions of unread loop outputs that share a body result with another output.

    An output is unread if nothing depends on it.
    """
    ports = node.body().ports.outputs
    results = [port.result for port in ports]
    return [
        port.external
        for port in ports
        if results.count(port.result) > 1 and not is_live(node.outputs[port.external])
    ]


@UnreadOutputOfASharedResult.case(
    "openvino_loop_unread_beside_shared",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "Several outputs may return one result of the body; an output needs no reader.",
    run([2, [1, 2]], [[2, 4, -2, -4], [1, 2]]),
    run([3, [3, 5]], [[6, 10, -6, -10, 6, 10], [-3, -5]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=ElementType.I64))
    state = loop.state(m.input("x", 2))
    double, negative = loop(Add(), state, state), loop(Negative(), state)
    loop.carry(state, negative)
    loop.joined(double, 0)
    loop.last(double)
    loop.last(negative)
    joined, _, last = loop.done()
    return m.done(joined, last)
