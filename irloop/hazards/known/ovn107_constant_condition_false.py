"""OVN107: an initial condition of constant false."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import number_of

__all__ = ["ConstantConditionFalse"]


class ConstantConditionFalse(
    Hazard,
    code="OVN107",
    engine="openvino",
    versions=("2026.4.1",),
    title="An initial condition of constant false",
    effect=Effect.WRONG,
    case="openvino_loop_constant_condition_false",
    rule="IRL609",
    passes=("fold_trips",),
):
    """An initial condition of constant false.

    What happens:
        The last values of the states are lost.
    Where:
        The condition input of a Loop is a constant false.
    What irloop does:
        Conversion to IR writes no loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, ov.Loop) and number_of(node.inputs[1]) == 0:
            yield "the initial condition is a constant false"
