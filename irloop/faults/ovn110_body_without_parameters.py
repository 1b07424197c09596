"""OVN110: a TensorIterator whose body has no Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node

__all__ = ["BodyWithoutParameters"]


class BodyWithoutParameters(
    Fault,
    code="OVN110",
    engine="openvino",
    title="A TensorIterator whose body has no Parameter",
    effect=Effect.CRASH,
    rule="IRL523",
    fix="Use a Loop.",
):
    """A TensorIterator whose body has no Parameter.

    What happens:
        The process crashes.
    Where:
        The body of a TensorIterator has no Parameter.
    What irloop does:
        Conversion to IR writes a Loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, ov.TensorIterator) and not node.body().graph.inputs:
            yield "the body has no Parameter"


@BodyWithoutParameters.case(
    "iterator_without_parameters",
    "IR: rare forms",
    "OpenVINO TensorIterator-1",
    "The number of iterations follows from the slices and from the joined outputs.",
    run([[[10, 20]]], [[[11, 22]] * 3]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.tensor_iterator()
    loop.joined(loop.constant([[1, 2]]), 0, 0, 3)
    return m.done(m(Add(), *loop.done(), x))
