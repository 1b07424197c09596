"""OVN120: a Convert to boolean reads a node that has several outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import LogicalOr, NotEqual
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["BooleanOutputReadTwice"]


class BooleanOutputReadTwice(
    Fault,
    code="OVN120",
    engine="openvino",
    title="A Convert to boolean reads a node that has several outputs",
    effect=Effect.WRONG,
    fix="Replace the Convert by NotEqual to 0, or by LogicalOr of a boolean with itself.",
):
    """A Convert to boolean reads a node that has several outputs.

    What happens:
        The Convert reads output 0 of its producer instead of the connected output, or the model
        does not compile.
    Where:
        A Convert to boolean reads an output of a node that has several outputs.
    What irloop does:
        Conversion to IR writes NotEqual to 0, or LogicalOr of a boolean with itself.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Convert) or node.op.destination_type is not ElementType.BOOLEAN:
            return
        given = node.inputs[0]
        if given is not None and len(given.producer.outputs) > 1:
            yield f"Convert {node.name!r} reads output {given.index} of several"

    def is_repaired(self, node: Node) -> bool:
        """Return whether the elements have whole bytes, which NotEqual compares."""
        given = node.inputs[0]
        return super().is_repaired(node) and given is not None and element_of(given).bits >= 8

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Compare the elements with 0, or join a boolean with itself."""
        (data,) = node.inputs
        assert data is not None
        if element_of(data) is ElementType.BOOLEAN:
            made = w(LogicalOr(), data, data)
        else:
            made = w(NotEqual(), data, w.constant(0, element_of(data)))
        w.rewriter.replace_node(node, [made])


@BooleanOutputReadTwice.case(
    "openvino_loop_boolean_output",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "Convert gives the element of the input in another type.",
    run([[1], True], [[4], True]),
    run([[0], True], [[0], True]),
)
def smallest() -> Model:
    m = IrModel()
    x, flag = m.input("x", 1), m.input("flag", element=ElementType.BOOLEAN)
    loop = m.loop(m.constant(2, ElementType.I64))
    state, kept = loop.state(x), loop.state(flag)
    loop.carry(state, loop(Add(), state, state))
    loop.carry(kept, loop(Convert(ElementType.BOOLEAN), kept))
    loop.last_of(state)
    loop.last_of(kept)
    first, second = loop.done()
    return m.done(first, m(Convert(ElementType.BOOLEAN), second))
