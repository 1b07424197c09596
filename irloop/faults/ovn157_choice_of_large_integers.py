"""OVN157: a Select of large integers with a computed condition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import is_view, number_of
from irloop.analysis.ranges import may_be_large
from irloop.analysis.sources import sources
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import (
    Equal,
    Greater,
    NotEqual,
    Select,
)
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Sign
from irloop.dialects.openvino.shape import Broadcast, Broadcast3, Tile
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ChoiceOfLargeIntegers"]


class ChoiceOfLargeIntegers(
    Fault,
    code="OVN157",
    engine="openvino",
    title="A Select of integers with more than 24 bits by a computed condition",
    effect=Effect.WRONG,
    fix="Convert the condition to i32 and back to boolean before the Select.",
    after=("OVN158",),
):
    """A Select of integers with more than 24 bits by a computed condition.

    What happens:
        The CPU plugin computes the Select together with the comparison or logical operation before
        it, in f32, whose numbers have 24 bits: Select(x > 0, 16777217, 0) returns 16777216.
    Where:
        The condition of a Select of i32, i64, u32 or u64 is computed elementwise, for example by a
        comparison, a LogicalAnd or an IsNaN. Logical operations of f32 or boolean inputs have the
        fault only in bodies. Sizes, positions and small constants are not affected.
    What irloop does:
        Conversion to IR converts the condition to i32 and back, or the numbers that are compared
        with 0 to boolean, which keeps the operations apart.
    """

    # Few models choose between such numbers, and from IR to ONNX the result becomes exact.
    concerns_conversion = False
    operations = (Select,)

    def find(self, node: Node) -> Iterator[str]:
        if chooses_in_f32(node):
            element = element_of(node.output)
            yield f"Select {node.name!r} of {element} may need more than 24 bits"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Keep OpenVINO from computing a Select of large integers together with its condition.

        Given::

            y = Select(Less(a, b), c, d)

        Result::

            y = Select(Convert(Convert(Less(a, b)) to i32) to boolean, c, d)

        OpenVINO would round the integers to 24 bits. A Convert that tells 0 from other integers
        takes the place of a comparison with 0: of -2^31, whose size is no i32, the sign is
        converted.
        """
        condition = node.inputs[0]
        assert condition is not None, "OpenVINO requires the condition of a Select"
        compared = _compared_with_zero(condition)
        if compared is None:
            kept = w(Convert(ElementType.I32), condition)
        else:
            kept = w(Sign(), compared) if may_be_large(compared) else compared
        kept = w(Convert(ElementType.BOOLEAN), kept)
        is_opposite = compared is not None and isinstance(condition.producer.op, Equal)
        # Nodes are repaired in their order, so all others that need it follow.
        for user, position in condition.uses:
            if user is node or (position == 0 and chooses_in_f32(user)):
                _, *choices = user.inputs
                new = [kept, *(choices[::-1] if is_opposite else choices)]
                for at, value in enumerate(new):
                    w.rewriter.set_input(user, at, value)
        w.rewriter.erase_unread([condition.producer])


def chooses_in_f32(node: Node) -> bool:
    """Return whether `node` is a Select that chooses between integers, but is computed in f32 with
    its condition.

    The condition is computed elementwise, and one of the integers may need more than 24 bits.
    """
    if not isinstance(node.op, Select) or None in node.inputs:
        return False
    condition, *choices = (value for value in node.inputs if value is not None)
    return _is_computed_elementwise(condition) and any(map(may_be_large, choices))


def _compared_with_zero(condition: Value) -> Value | None:
    """The integers of which a condition tells whether they are 0, or whether not; else None."""
    node = condition.producer
    if not isinstance(node.op, Equal | NotEqual):
        return None
    for value, other in (node.inputs, node.inputs[::-1]):
        is_whole = value is not None and shape_of(value) == shape_of(condition)
        if value is not None and is_whole and number_of(other) == 0:
            element = element_of(value)
            return value if element.is_integer and element.bits >= 32 else None
    return None


def _is_computed_elementwise(condition: Value) -> bool:
    """Return whether an elementwise operation other than Convert computes a condition.

    Operations that only move or repeat elements may follow it.
    """
    first = next(
        node
        for node in sources([condition.producer], lambda node: node.inputs[:1])
        if isinstance(node.op, Convert) or not _repeats(node)
    )
    return first.op.elementwise and bool(first.inputs) and not isinstance(first.op, Convert)


def _repeats(node: Node) -> bool:
    return is_view(node) or isinstance(node.op, Broadcast | Broadcast3 | Tile)


@ChoiceOfLargeIntegers.case(
    "choice_of_large_integers",
    "IR: rare forms",
    "OpenVINO Select-1",
    "Each element of the first choice where the condition is true, else of the second one.",
    run([[1, 2], [1.0, -1.0]], [[1, 5]]),
    run([[16777217, -2147483647], [1.0, 2.0]], [[16777217, -2147483647]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None, element=ElementType.I32)
    positive = m(Greater(), m.input("condition", None), m.constant(0.0))
    return m.done(m(Select(), positive, x, m.constant(5, ElementType.I32)))
