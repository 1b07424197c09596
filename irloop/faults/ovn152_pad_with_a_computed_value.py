"""OVN152: a Pad by constant sizes with a value that is computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.sources import is_computed_from_inputs
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.openvino.padding import Pad, Pad12
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["PadWithAComputedValue"]


class PadWithAComputedValue(
    Fault,
    code="OVN152",
    engine="openvino",
    title="A Pad by constant sizes with a value that is computed",
    effect=Effect.STALE,
    fix="Pad with 0, and Select the value where a mask that is padded alike is false.",
):
    """A Pad by constant sizes with a value that is computed.

    What happens:
        The CPU plugin reads the value when it prepares the Pad, before the value is computed. It
        pads with 0, with uninitialised memory or with the value of an earlier inference.
    Where:
        A Pad of mode constant whose pads_begin and pads_end are constant, and whose pad value
        depends on an input of the graph. With computed sizes the Pad is right.
    What irloop does:
        Conversion to IR pads with 0 and selects the value outside of the data.
    """

    operations = (Pad, Pad12)

    def find(self, node: Node) -> Iterator[str]:
        if pads_with_a_computed_value(node):
            yield f"the value of {node.name!r} is computed"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace a Pad whose value is computed: pads with 0, then selects the value in the
        padding.

        Given::

            y = Pad(x, Const, Const, v)

        Result::

            zeros = Pad(x, Const, Const)    ones = Broadcast(1, ShapeOf(x))
            inside = Convert(Pad(ones, Const, Const), boolean)    y = Select(inside, zeros, v)

        OpenVINO's CPU plugin would read the value before it is computed.
        """
        data, begins, ends, fill = (value for value in node.inputs if value is not None)
        zero = w.constant(0, element_of(data))
        zeros = w(node.op, data, begins, ends, zero)
        shape = w(ShapeOf3(ElementType.I64), data)
        ones = w(Broadcast3(), w.constant(1, ElementType.I32), shape)
        blank = w.constant(0, ElementType.I32)
        marks = w(node.op, ones, begins, ends, blank)
        inside = w(Convert(ElementType.BOOLEAN), marks)
        w.rewriter.replace_node(node, [w.select(inside, zeros, fill)])


def pads_with_a_computed_value(node: Node) -> bool:
    """Return whether a node is a Pad with constant sizes and a computed pad value.

    The Pad must have the mode constant. Its value counts as computed if it may depend on an input
    of the graph, a variable or a random number.
    """
    if not isinstance(node.op, Pad | Pad12) or len(node.inputs) < 4:
        return False
    _, begins, ends, value = node.inputs
    if node.op.pad_mode.lower() != "constant" or begins is None or ends is None or value is None:
        return False
    if not all(isinstance(sizes.producer.op, Constant) for sizes in (begins, ends)):
        return False
    return is_computed_from_inputs(value.producer) is not False


@PadWithAComputedValue.case(
    "pad_with_a_computed_value",
    "IR: rare forms",
    "OpenVINO Pad-12",
    "arg_pad_value is the value that is used to pad the input.",
    run([[1, 2], 3], [[-3, 1, 2]]),
    run([[1, 2], 4], [[-4, 1, 2]]),
)
def smallest() -> Model:
    m = IrModel()
    x, value = m.input("x", 2), m.input("value")
    begins, ends = m.constant([1], ElementType.I64), m.constant([0], ElementType.I64)
    return m.done(m(Pad(pad_mode="constant"), x, begins, ends, m(Negative(), value)))
