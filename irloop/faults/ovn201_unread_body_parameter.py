"""OVN201: a mapped body parameter that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Negative
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node

__all__ = ["UnreadBodyParameter"]


class UnreadBodyParameter(
    Fault,
    code="OVN201",
    engine="openvino",
    title="A mapped body parameter that nothing reads",
    effect=Effect.REFUSAL,
    rule="IRL513",
    passes=("canonical_ports",),
):
    """A mapped body parameter that nothing reads.

    What happens:
        OpenVINO 2021.4 does not read the file.
    Where:
        The port map names a Parameter whose output no layer of the body reads.
    What irloop does:
        Conversion to IR removes such a parameter.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        for port in body.ports.inputs:
            parameter = body.graph.input(port.parameter)
            if not parameter.is_used:
                yield f"nothing in the body reads {parameter.name!r}"


@UnreadBodyParameter.case(
    "iterator_unread_parameter",
    "IR: rare forms",
    "OpenVINO TensorIterator-1",
    "The port map connects each input of the operation with Parameters of the body.",
    run([[[1, 2], [3, 4], [5, 6]], [9]], [[[-1, -2], [-3, -4], [-5, -6]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", 3, 2), m.input("y", 1)
    loop = m.tensor_iterator()
    part = loop.slice(x, 0)
    loop.invariant(y)
    loop.joined(loop(Negative(), part), 0)
    return m.done(*loop.done())
