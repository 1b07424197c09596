"""OVN145: a division of integers after a reduction or a matrix product."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irloop.analysis.patterns import is_view
from irloop.analysis.shared_memory import is_copy
from irloop.analysis.sources import sources
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Divide,
)
from irloop.dialects.openvino.gather import GATHERS
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reduction import ReduceMax, ReduceSum, Reduction
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["IntegerDivisionOfAReduction"]


class IntegerDivisionOfAReduction(
    Fault,
    code="OVN145",
    engine="openvino",
    title="A division of integers after a reduction or a matrix product",
    effect=Effect.WRONG,
    fix="Divide Maximum(y, y), where y is the reduction or the product.",
    after=("OVN155",),
):
    """A division of integers after a reduction or a matrix product.

    What happens:
        The plugin computes the division in floating point, together with the reduction, and rounds
        the result to the nearest integer: 6 / 4 is 2. A constant divided by a sum is 0.
    Where:
        A Divide of integers, with a constant as one operand, follows a reduction or a MatMul of
        integers. Elementwise operations, reshapes and gathers may be between the two.
    What irloop does:
        Conversion to IR divides a copy of the reduction or product.
    """

    operations = (Divide,)

    def find(self, node: Node) -> Iterator[str]:
        for position in divided_inexactly(node):
            yield f"input {position} of {node.name!r} is computed from a reduction or a product"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Divide a copy of the result of a reduction or matrix product of integers.

        Given::

            s [2] i32 = ReduceSum(x, 1)    y = Divide(s, Const 4)

        Result::

            s [2] i32 = ReduceSum(x, 1)    c = Maximum(s, s)    y = Divide(c, Const 4)

        OpenVINO would round the quotient to nearest, so that 6 / 4 is 2.
        """
        found = divided_inexactly(node)
        for position in found:
            value = node.inputs[position]
            assert value is not None
            w.rewriter.set_input(node, position, w.own_copy(value))


def divided_inexactly(node: Node) -> list[int]:
    """Return the positions of operands that the plugin may compute together with a division.

    `node` is a division of integers, and the operands are computed from a reduction or a matrix
    product; only elementwise operations, reshapes and gathers may be between. For other nodes the
    list is empty.
    """
    if not isinstance(node.op, Divide) or not element_of(node.output).is_integer:
        return []
    return [at for at, value in enumerate(node.inputs) if value is not None and _is_fused(value)]


def _is_fused(value: Value) -> bool:
    found = sources([value.producer], _inputs_computed_with)
    return any(isinstance(node.op, Reduction | MatMul) for node in found)


def _inputs_computed_with(node: Node) -> Sequence[Value | None]:
    """Return the inputs of `node` that the plugin may compute together with `node`.

    These are all inputs of an elementwise operation, a Gather or a view, unless it is a copy, and
    none of any other node.
    """
    if any(is_copy(value) for value in node.outputs):
        return ()
    follows = isinstance(node.op, GATHERS) or is_view(node)
    return node.inputs if follows or node.op.elementwise else ()


@IntegerDivisionOfAReduction.case(
    "integer_division_of_a_reduction",
    "IR: rare forms",
    "OpenVINO Divide-1",
    "The quotient of integers is an integer, whatever computes the operands.",
    run([[[1, 5], [8, 8], [3, 4]]], [[1, 4, 1], [8, 5, 10]]),
    run([[[10, 1]]], [[2], [4]]),
)
def smallest() -> Model:
    m = IrModel()
    x, axis = m.input("x", None, 2, element=ElementType.I64), m.constant([1], ElementType.I64)
    total, largest = m(ReduceSum(), x, axis), m(ReduceMax(), x, axis)
    four, forty = m.constant(4, ElementType.I64), m.constant(40, ElementType.I64)
    return m.done(m(Divide(), total, four), m(Divide(), forty, largest))
