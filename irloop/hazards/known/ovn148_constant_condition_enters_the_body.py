"""OVN148: a constant first condition is mapped into the body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import number_of

__all__ = ["ConstantConditionEntersTheBody"]


class ConstantConditionEntersTheBody(
    Hazard,
    code="OVN148",
    engine="openvino",
    versions=("2026.4.1",),
    title="A constant first condition is mapped into the body",
    effect=Effect.REFUSAL,
    case="openvino_loop_condition_enters_the_body",
    fix="Map a copy of the condition.",
):
    """A constant first condition is mapped into the body.

    What happens:
        OpenVINO moves constants into bodies, and removes the input of the Loop that brought them.
        Here this input is the condition, and the next input takes its place. If there is no next
        input (`node index is out of range`), or if the next input is not boolean, the model is
        refused. If it is boolean, it decides whether the Loop runs.
    Where:
        The port map of a Loop has an entry for input 1, and the value of input 1 is constant. The
        entry is an invariant, or a state that no iteration changes.
    What irloop does:
        Conversion to IR and `transform` map a copy of the condition.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or number_of(node.inputs[1]) is None:
            return
        if any(port.external == 1 for port in node.body().ports.inputs):
            yield "input 1, the constant condition, is mapped to a body parameter"
