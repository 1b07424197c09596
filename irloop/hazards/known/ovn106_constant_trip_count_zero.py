"""OVN106: a trip count of constant zero and a joined output."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Concatenated
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import number_of

__all__ = ["ConstantTripCountZero"]


class ConstantTripCountZero(
    Hazard,
    code="OVN106",
    engine="openvino",
    versions=("2026.4.1",),
    title="A trip count of constant zero and a joined output",
    effect=Effect.CRASH,
    minimal=False,
    case="openvino_loop_constant_count_zero",
    rule="IRL609",
    passes=("fold_trips",),
):
    """A trip count of constant zero and a joined output.

    What happens:
        The process crashes while the model is compiled (SIGFPE), or the empty output has a wrong
        shape. This was measured in larger models in 2026.4.1. The minimal model and six variants of
        it do not reproduce the fault there: their outputs are right. The variants have a state or
        none, return its last value or do not, let an operation read the output, and are compiled
        from a file or from memory.
    Where:
        The trip count of a Loop is a constant 0.
    What irloop does:
        Conversion to IR writes no loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or number_of(node.inputs[0]) != 0:
            return
        if any(isinstance(port, Concatenated) for port in node.body().ports.outputs):
            yield "the trip count is a constant 0, and an output is joined"
