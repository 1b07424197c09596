"""OVN101: states that exchange their values."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop, same_memory
from irloop.hazards.shared_memory import is_copy, moving

__all__ = ["StatesExchanged"]


class StatesExchanged(
    Hazard,
    code="OVN101",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="States that exchange their values",
    effect=Effect.WRONG,
    case="openvino_loop_states_exchanged",
    rule="IRL626",
    passes=("body_barriers",),
):
    """States that exchange their values.

    What happens:
        Back edges are copied one after the other into the memory of the parameters: from the second
        iteration on, one of the two values is lost.
    Where:
        A body result is a Parameter of the body, and a back edge leads from it to another Parameter
        that is read.
    What irloop does:
        Conversion to IR copies the value in the body; the pass body_barriers does so in an IR.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        overwritten = moving(body)
        for port in body.ports.carried:
            own, value = body.graph.input(port.parameter), body.graph.output(port.result)
            held = same_memory(value)
            if held is not own and held in overwritten and not is_copy(value):
                yield f"the next value of state {own.name!r} is {held.name!r}, which also changes"
