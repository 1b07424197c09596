"""OVN104: a state that the body does not read, in a loop that does not run."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Carried, LastValue
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.live_values import is_live
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
        A Loop may run zero times. In its body, nothing reads the Parameter of a state, or the
        operations that read it have no effect on an output of the model.
    What irloop does:
        Conversion to IR changes the body so that it reads the state.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not may_not_run(node):
            return
        body = node.body()
        for port in body.ports.carried:
            parameter = body.graph.input(port.parameter)
            if not is_live(parameter, sizes_count=False) and _is_shown(node, port):
                yield f"the body does not read its state {parameter.name!r}"


def _is_shown(node: Node, state: Carried) -> bool:
    """True if a model output depends on the last value of a state."""
    return any(
        isinstance(port, LastValue)
        and port.result == state.result
        and is_live(node.outputs[port.external])
        for port in node.body().ports.outputs
    )
