"""OVN158: comparisons of large integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.ranges import may_be_large
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    NotEqual,
)
from irloop.dialects.openvino.elementwise import (
    Maximum,
    Subtract,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ComparisonOfLargeIntegers"]

COMPARISONS = (Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual)


class ComparisonOfLargeIntegers(
    Fault,
    code="OVN158",
    engine="openvino",
    title="A comparison of two integers with more than 24 bits",
    effect=Effect.WRONG,
    fix="Write Equal(a - b, 0) for Equal(a, b), and NotEqual(max(a, b) - a, 0) for Less(a, b).",
):
    """A comparison of two integers with more than 24 bits.

    What happens:
        The CPU plugin compares integers in f32, whose numbers have 24 bits: it takes 16777217 and
        16777216 for equal.
    Where:
        A comparison of i32, i64, u32 or u64, if both operands may need more than 24 bits: sizes,
        positions, small constants and numbers computed from them do not.
    What irloop does:
        Conversion to IR compares a difference of i32 or i64 with 0 instead. Numbers of u32 and u64
        are left as they are.
    """

    # Few models compare such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = COMPARISONS

    def find(self, node: Node) -> Iterator[str]:
        if is_compared_in_f32(node):
            yield f"both operands of {node.op.type} {node.name!r} may need more than 24 bits"

    def is_repaired(self, node: Node) -> bool:
        if not isinstance(node.op, COMPARISONS) or node.op.auto_broadcast != "numpy":
            return False
        operand = node.inputs[0]
        if operand is None or element_of(operand) not in (ElementType.I32, ElementType.I64):
            return False
        return is_compared_in_f32(node)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Compare large integers by their difference.

        Given::

            c = Less(a, b)

        Result::

            c = NotEqual(Subtract(Maximum(a, b), a), Const 0)

        OpenVINO compares in f32, but computes maxima and differences exactly. A difference that
        overflows is still different from 0. Unsigned integers are not supported: from 2^31 on,
        OpenVINO takes them for negative."""
        left, right = (value for value in node.inputs if value is not None)
        if isinstance(node.op, Equal | NotEqual):
            difference = w(Subtract(), left, right)
        else:
            taken = left if isinstance(node.op, Less | GreaterEqual) else right
            difference = w(Subtract(), w(Maximum(), left, right), taken)
        differs = isinstance(node.op, NotEqual | Less | Greater)
        zero = w.constant(0, element_of(left))
        result = w(NotEqual() if differs else Equal(), difference, zero)
        w.rewriter.replace_node(node, [result])


def is_compared_in_f32(node: Node) -> bool:
    """Return whether `node` is a comparison of integers that may both need more than 24 bits.

    If one of them needs at most 24 bits, rounding the other does not change the result.
    """
    if not isinstance(node.op, COMPARISONS):
        return False
    return all(value is not None and may_be_large(value) for value in node.inputs)


@ComparisonOfLargeIntegers.case(
    "comparison_of_large_integers",
    "IR: rare forms",
    "OpenVINO Equal-1",
    "Whether two elements are equal, and whether the first one is less.",
    run([[1, 2], [2, 2]], [[False, True], [True, False]]),
    run(
        [[16777216, -2147483648], [16777217, -2147483647]],
        [[False, False], [True, True]],
    ),
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", None, element=ElementType.I32), m.input("y", None, element=ElementType.I32)
    return m.done(m(Equal(), x, y), m(Less(), x, y))
