"""OVN164: an inner loop whose iterations depend on a state that changes its size."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.control_flow import Loop
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop
from irloop.hazards.states import reaches_a_loop, resizing_states

__all__ = ["InnerLoopOverAChangingState"]


class InnerLoopOverAChangingState(
    Hazard,
    code="OVN164",
    engine="openvino",
    versions=("2026.4.1",),
    title="An inner loop that depends on a state whose size changes",
    effect=Effect.WRONG,
    case="openvino_inner_loop_over_a_growing_state",
    fix="Repeat the initial value of the state once by a Tile whose repeats are computed.",
):
    """An inner loop that depends on a state whose size changes.

    What happens:
        OpenVINO works out how often the inner loop runs from the initial size of the state, and
        keeps that number in all iterations of the outer loop. The inference returns wrong numbers,
        or ends with an error: can not clone with new dims.
    Where:
        A Loop has a state whose initial size is known and whose later sizes differ. The trip count
        or the condition of a Loop in its body follows from the size of the state.
    What irloop does:
        Conversion to IR gives the initial value a size that the plugin does not know. It does so
        for each state whose size may change, if an inner Loop depends on the state in any way.
    """

    only_with_body = True
    beside = (Loop,)

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        for port in resizing_states(node):
            state = node.body().graph.input(port.parameter)
            if reaches_a_loop(state):
                yield f"state {state.name!r} may change its size, and an inner Loop depends on it"
