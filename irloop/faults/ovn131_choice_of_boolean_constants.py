"""OVN131: a Select between booleans whose constant condition is also one of the choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Select
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["ChoiceOfBooleanConstants"]


class ChoiceOfBooleanConstants(
    Fault,
    code="OVN131",
    engine="openvino",
    title="A Select between booleans whose constant condition is also one of the choices",
    effect=Effect.REFUSAL,
    fix="Write (c and a) or (not c and b) instead.",
):
    """A Select between booleans whose constant condition is also one of the choices.

    What happens:
        The plugin computes booleans as u8, but a constant that is the condition of a Select stays
        boolean. Equal constants are merged, so a choice that equals the condition stays boolean,
        too. The other choice is u8, and the plugin refuses to select from a boolean and a u8.
    Where:
        In the body of a loop or a branch, the condition of a Select of booleans and one of its
        choices are constants.
    What irloop does:
        Conversion to IR writes such a choice by LogicalAnd, LogicalOr and LogicalNot, and so does
        `transform` if a pass made the constants.
    """

    operations = (Select,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Select) or node.owner is None:
            return
        if element_of(node.outputs[0]) is not ElementType.BOOLEAN:
            return
        constant = [
            value is not None and isinstance(value.producer.op, Constant) for value in node.inputs
        ]
        if constant[0] and any(constant[1:]):
            yield f"the condition and a choice of {node.name!r} are constants"

    def is_repaired(self, node: Node) -> bool:
        if not isinstance(node.op, Select) or node.owner is None:
            return False
        if node.op.auto_broadcast != "numpy":
            return False
        choices = [value for value in node.inputs[1:] if value is not None]
        return element_of(node.outputs[0]) is ElementType.BOOLEAN and any(
            isinstance(value.producer.op, Constant) for value in choices
        )

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace a Select of booleans by logic if an operand is a constant.

        Given, in the body of a loop::

            y = Select(c, Const true, s)

        Result::

            y = (c and true) or (not c and s)

        If `c` is a constant with the same value as the operand, OpenVINO merges the two constants
        and keeps the merged constant boolean. It computes other booleans as u8, and refuses a
        Select between boolean and u8."""
        condition, then, otherwise = node.inputs
        if condition is None or then is None or otherwise is None:
            return
        made = w.select(condition, then, otherwise)
        w.rewriter.replace_node(node, [made])


@ChoiceOfBooleanConstants.case(
    "openvino_loop_choice_of_constants",
    "IR: rare forms",
    "OpenVINO Select-1",
    "Where the condition is true, the output has the elements of the second input.",
    run([False], [True]),
    run([True], [True]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.constant(2, ElementType.I64))
    state = loop.state(m.input("x", element=ElementType.BOOLEAN))
    condition, then = (
        loop.constant(True, ElementType.BOOLEAN),
        loop.constant(True, ElementType.BOOLEAN),
    )
    loop.carry(state, loop(Select(), condition, then, state))
    loop.last_of(state)
    return m.done(*loop.done())
