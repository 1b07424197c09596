"""OVN114: a state that grows and is not an output of the loop."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import LastValue
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop
from irloop.hazards.states import resizing_states

__all__ = ["GrowingStateIsNoOutput"]


class GrowingStateIsNoOutput(
    Hazard,
    code="OVN114",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state that grows and is not a loop output",
    effect=Effect.REFUSAL,
    case="openvino_loop_growing_state_is_no_output",
    fix="Make the state an output of the Loop.",
):
    """A state that grows and is not an output of the loop.

    What happens:
        The inference ends with an error: object is not initialized.
    Where:
        The size of a state changes from iteration to iteration, and nothing reads its last value:
        OpenVINO removes outputs without readers.
    What irloop does:
        Conversion to IR gives the initial value a size that the plugin does not know. Otherwise the
        plugin would assume the sizes of the initial value in all iterations.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        shown = {
            port.result
            for port in body.ports.outputs
            if isinstance(port, LastValue) and node.outputs[port.external].is_used
        }
        for port in resizing_states(node):
            parameter = body.graph.input(port.parameter)
            if port.result not in shown and parameter.is_used:
                yield f"state {parameter.name!r} may change its size and is not a loop output"
