"""OVN144: a size that is converted to a narrow type and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.shared_memory import is_copy
from irloop.analysis.sizes import is_running_sum, is_size, narrowed
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SizeInANarrowType"]


class SizeInANarrowType(
    Fault,
    code="OVN144",
    engine="openvino",
    title="A size that is converted to a narrow type and back",
    effect=Effect.WRONG,
    fix="Convert Maximum(n, n), where n is the size.",
    after=("OVN149",),
):
    """A size that is converted to a narrow type and back.

    What happens:
        OpenVINO treats the result as the size itself: as a boolean, 40 stays 40 instead of becoming
        1; as u8, 300 stays 300 instead of becoming 44.
    Where:
        An element of the result of a ShapeOf, whose value is unknown, is converted to
        boolean or to an integer of 16 bits or fewer, and the result of this conversion is
        converted to a wider type. The result determines the shape, the bounds or the
        repetitions of another operation.
    What irloop does:
        Conversion to IR converts a copy of the size.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if narrows_a_size(node):
            yield f"{node.name!r} narrows a size, and another Convert reads it"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Copy a size before its Convert to boolean or a narrow type.

        Given::

            n = Gather(ShapeOf(x), 0, 0)    b = Convert(n, boolean)    y = Convert(b, i64)

        Result::

            n = Gather(ShapeOf(x), 0, 0)    c = Maximum(n, n)    b = Convert(c, boolean)
            y = Convert(b, i64)
        """
        size = node.inputs[0]
        assert size is not None
        w.rewriter.set_input(node, 0, w.own_copy(size))


def narrows_a_size(node: Node) -> bool:
    """Return whether `node` converts a size to a narrow type, and another Convert reads the result.

    A size is a value computed from a ShapeOf. Narrow types are boolean and integers of less than 32
    bits; the size itself has a wider type. The result is False if the size is a copy (see `is_copy`
    and `is_running_sum`).
    """
    given = narrowed(node)
    if given is None or is_copy(given) or is_running_sum(given) or not is_size(given):
        return False
    return any(isinstance(user.op, Convert) for user, _ in node.output.uses)


@SizeInANarrowType.case(
    "openvino_size_in_a_narrow_type",
    "IR: rare forms",
    "OpenVINO Convert-1",
    "The element of the input in another type: 0 is false, other numbers are true.",
    run([[7, 8, 9]], [[2]]),
    run([[5]], [[2]]),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", None)
    flag = m(Convert(ElementType.I64), m(Convert(ElementType.BOOLEAN), m(ShapeOf3(), x)))
    return m.done(m(Broadcast3(), m.constant(2.0), flag))
