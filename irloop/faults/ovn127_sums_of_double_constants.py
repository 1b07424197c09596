"""OVN127: sums of sums of f64 constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.plugin import is_constant
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Add,
    Subtract,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SumsOfDoubleConstants"]

SUMS = (Add, Subtract)


class SumsOfDoubleConstants(
    Fault,
    code="OVN127",
    engine="openvino",
    title="Sums of sums of f64 constants",
    effect=Effect.HANG,
    fix="Compute the sums beforehand.",
):
    """Sums of sums of f64 constants.

    What happens:
        The compilation never ends: the plugin rewrites an Add of an Add of f64 constants again and
        again.
    Where:
        An Add or Subtract of f64 reads the result of another Add or Subtract of two
        constants. Its other operand is a constant, or such a result, too.
    What irloop does:
        Conversion to IR computes the sums.
    """

    operations = SUMS

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, SUMS):
            return
        producers = [value.producer for value in node.inputs if value is not None]
        sums = [item for item in producers if sums_double_constants(item)]
        if sums and all(isinstance(item.op, Constant) or item in sums for item in producers):
            yield f"{node.name!r} adds an f64 constant to a sum of f64 constants"

    def is_repaired(self, node: Node) -> bool:
        return sums_double_constants(node)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Fold sums and differences of f64 constants, including constants that are converted to
        f64.

        Given::

            s = Add(Const f64, Const f64)    t = Add(s, Const f64)

        Result::

            t = Const f64

        Without this pass, OpenVINO would never finish the compilation.
        """
        from irloop.passes.folding import folded

        tensor = folded(node.output)
        if tensor is not None:
            constant = w.rewriter.insert_constant(tensor, before=node, name=node.name)
            w.rewriter.replace_node(node, [constant])


def sums_double_constants(node: Node) -> bool:
    """Return whether `node` is an Add or Subtract of two f64 constants, each possibly read through
    a Convert.
    """
    if not isinstance(node.op, SUMS):
        return False
    if element_of(node.outputs[0]) is not ElementType.F64:
        return False
    return all(value is not None and is_constant(value) for value in node.inputs)


@SumsOfDoubleConstants.case(
    "sums_of_double_constants",
    "IR: rare forms",
    "OpenVINO Add-1",
    "The sum of the operands, whatever they are computed from.",
    run([[1]], [[7]]),
)
def smallest() -> Model:
    m = IrModel()
    first = m(Add(), m.constant([1], ElementType.F64), m.constant([2], ElementType.F64))
    second = m(Add(), first, m.constant([3], ElementType.F64))
    return m.done(m(Add(), m.input("x", 1), m(Convert(ElementType.F32), second)))
