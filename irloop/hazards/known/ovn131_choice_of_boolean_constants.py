"""OVN131: a Select between booleans whose constant condition is also one of the choices."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.comparison import Select
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ChoiceOfBooleanConstants"]


class ChoiceOfBooleanConstants(
    Hazard,
    code="OVN131",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Select between booleans whose constant condition is also one of the choices",
    effect=Effect.REFUSAL,
    case="openvino_loop_choice_of_constants",
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
        if not isinstance(node.op, Select) or node.graph is None or node.graph.owner is None:
            return
        if element_of(node.outputs[0]) is not ElementType.BOOLEAN:
            return
        constant = [
            value is not None and isinstance(value.producer.op, Constant) for value in node.inputs
        ]
        if constant[0] and any(constant[1:]):
            yield f"the condition and a choice of {node.name!r} are constants"
