"""OVN104: a state that the body does not read, in a loop that does not run."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import LastValue
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import may_not_run

__all__ = ["UnreadState"]


class UnreadState(
    Hazard,
    code="OVN104",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state that the body does not read, in a loop that does not run",
    effect=Effect.WRONG,
    case="openvino_loop_unread_state_without_iteration",
    fix="Let the body read the state.",
):
    """A state that the body does not read, in a loop that does not run.

    What happens:
        If the loop runs zero times, the output for the state is empty, or has the value of an
        earlier inference, instead of the initial value.
    Where:
        A Loop that may run zero times has a state whose Parameter no operation in the body reads.
    What irloop does:
        Conversion to IR lets the body read the state.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not may_not_run(node):
            return
        body = node.body()
        shown = {port.result for port in body.ports.outputs if isinstance(port, LastValue)}
        for port in body.ports.carried:
            parameter = body.graph.inputs[port.parameter]
            if port.result in shown and not parameter.is_used:
                yield f"the body does not read its state {parameter.name!r}"
