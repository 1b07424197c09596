"""OVN111: a TensorIterator directly in the body of another."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_in_iterator
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Negative
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node

__all__ = ["IteratorInIterator"]


class IteratorInIterator(
    Fault,
    code="OVN111",
    engine="openvino",
    title="A TensorIterator directly in the body of another",
    effect=Effect.REFUSAL,
    rule="IRL522",
    passes=("tensor_iterator_to_loop",),
):
    """A TensorIterator directly in the body of another.

    What happens:
        The model is not compiled.
    Where:
        The body of a TensorIterator contains a TensorIterator.
    What irloop does:
        Conversion to IR writes a Loop for one of the two.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        owner = node.owner
        if owner is not None and isinstance(node.op, ov.TensorIterator) and is_in_iterator(node):
            yield f"it is in the body of TensorIterator {owner.name!r}"


@IteratorInIterator.case(
    "iterator_in_iterator",
    "IR: rare forms",
    "OpenVINO TensorIterator-1",
    "The body is a graph of any operations.",
    run([[[1, 2, 3], [4, 5, 6]]], [[[-1, -2, -3], [-4, -5, -6]]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 2, 3)
    outer = m.tensor_iterator()
    row = outer.slice(x, 0)
    inner = m.inside(outer).tensor_iterator()
    part = inner.slice(row, 1)
    inner.joined(inner(Negative(), part), 1, 0, -1)
    (joined,) = inner.done()
    outer.joined(joined, 0)
    return m.done(*outer.done())
