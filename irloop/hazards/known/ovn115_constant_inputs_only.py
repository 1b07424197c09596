"""OVN115: a Loop whose inputs are all constants."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ConstantInputsOnly"]


class ConstantInputsOnly(
    Hazard,
    code="OVN115",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="A Loop whose inputs are all constants",
    effect=Effect.REFUSAL,
    case="openvino_loop_of_constants",
    fix="Compute the loop beforehand, or give it an input that is not a constant.",
):
    """A Loop whose inputs are all constants.

    What happens:
        The model does not compile: constant folding throws (trip_count != 0).
    Where:
        Every input of a Loop is a constant. Compilation fails if the Loop runs zero times, or if a
        Loop in its body does so in some iteration; irloop reports all Loops with constant inputs
        only.
    What irloop does:
        Conversion to IR folds such a loop, or gives it an input that is not constant.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or not node.inputs:
            return
        given = [value for value in node.inputs if value is not None]
        if all(isinstance(value.producer.op, Constant) for value in given):
            yield "every input of the loop is a constant"
