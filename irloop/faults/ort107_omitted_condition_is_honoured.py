"""ORT107: the condition of a body is honoured although the Loop has no condition input."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import number_of, same_memory
from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Body, Node
from irloop.graph.op import Parameter

__all__ = ["OmittedConditionIsHonoured"]


class OmittedConditionIsHonoured(
    Fault,
    code="ORT107",
    engine="onnxruntime",
    title="The condition of a body is honoured although the Loop has no condition input",
    effect=Effect.WRONG,
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


def computes_its_condition(body: Body) -> bool:
    """Return whether a body may stop a loop.

    It may not if its condition is a constant true, or is returned unchanged.
    """
    if body.ports.condition is None:
        return False
    value = same_memory(body.graph.output(body.ports.condition))
    return not isinstance(value.producer.op, Parameter) and number_of(value) in (None, 0)


@OmittedConditionIsHonoured.case(
    "loop_condition_is_left_out",
    "Loop: trip count and condition",
    "ONNX Loop-16",
    "input (trip_count, ''): the condition that the body computes is ignored.",
    run([3, 1], [8]),
    run([1, 1], [2]),
    on_demand=True,
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, float x) => (float y) {
  y = Loop <body = b (int64 i, bool c, float a) => (bool d, float r) {
    three = Constant <value_float = 3.0> ()  r = Add (a, a)  d = Less (r, three)
  }> (n, "", x)
}""")
