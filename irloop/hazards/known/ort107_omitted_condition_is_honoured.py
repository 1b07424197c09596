"""ORT107: the condition of a body is honoured although the Loop has no condition input."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import computes_its_condition

__all__ = ["OmittedConditionIsHonoured"]


class OmittedConditionIsHonoured(
    Hazard,
    code="ORT107",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="The condition of a body is honoured although the Loop has no condition input",
    effect=Effect.WRONG,
    case="loop_condition_is_left_out",
    rule="ONX301",
    fix="Connect a constant true, or return a constant true from the body.",
):
    """The condition of a body is honoured although the Loop has no condition input.

    What happens:
        A Loop stops when its body returns false. By the specification the value is ignored if the
        condition input is omitted. Every measured engine stops.
    Where:
        The condition input of a Loop is omitted, and its body computes a condition or returns a
        constant false.
    What irloop does:
        irloop's executor and its conversion to IR stop as well; the conversion warns (CNV102).
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, onnx.Loop) or node.inputs[1] is not None:
            return
        if computes_its_condition(node.body()):
            yield "the condition input is left out, and the condition of the body may be false"
