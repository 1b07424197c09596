"""OVN166: an LRN whose bias is not a whole number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Multiply,
)
from irloop.dialects.openvino.normalization import LRN
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["FractionalBias"]

#: The largest absolute logarithm of the factor that replaces a bias; f16 can hold the factor then.
LARGEST_LOGARITHM = 10.0


class FractionalBias(
    Fault,
    code="OVN166",
    engine="openvino",
    title="An LRN whose bias is not a whole number",
    effect=Effect.WRONG,
    fix="Divide alpha and the bias by the bias, and multiply the result by bias ^ -beta.",
):
    """An LRN whose bias is not a whole number.

    What happens:
        The CPU plugin truncates the bias to a whole number: it computes with 1 instead of 1.5.
    Where:
        Every LRN whose bias has a fractional part.
    What irloop does:
        Conversion to IR writes an LRN with a bias of 1 and multiplies its result.
    """

    operations = (LRN,)

    def find(self, node: Node) -> Iterator[str]:
        if has_a_fractional_bias(node):
            yield f"the bias of {node.name!r} is not a whole number"

    def is_repaired(self, node: Node) -> bool:
        if not has_a_fractional_bias(node) or not isinstance(node.op, LRN):
            return False
        return abs(node.op.beta * math.log(node.op.bias)) <= LARGEST_LOGARITHM

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace an LRN whose bias is not a whole number by one with a bias of 1.

        Given::

            y = LRN(x, axes)  {alpha=a, beta=b, bias=k}

        Result::

            z = LRN(x, axes)  {alpha=a / k, beta=b, bias=1}  y = Multiply(z, k ^ -b)

        The factor must be between e ^ -10 and e ^ 10.
        """
        op = node.op
        assert isinstance(op, LRN)
        data, axes = node.inputs
        assert data is not None
        assert axes is not None
        normal = w(replace(op, alpha=op.alpha / op.bias, bias=1.0), data, axes)
        factor = w.constant(op.bias**-op.beta, element_of(data))
        w.rewriter.replace_node(node, [w(Multiply(), normal, factor)])


def has_a_fractional_bias(node: Node) -> bool:
    """Return whether a node is an LRN with a positive, finite bias that is not a whole number."""
    return isinstance(node.op, LRN) and 0 < node.op.bias < math.inf and node.op.bias % 1 != 0


@FractionalBias.case(
    "lrn_with_a_fractional_bias",
    "IR: rare forms",
    "OpenVINO LRN-1",
    "bias represents the offset, of type float.",
    # Divided by 0.5 ^ 2.
    run([[[[[1, -3]]]]], [[[[[4, -12]]]]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1, 1, 1, 2)
    return m.done(
        m(LRN(alpha=0.0, beta=2.0, bias=0.5, size=1), x, m.constant([1], ElementType.I64))
    )
