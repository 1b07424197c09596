"""OVN202: the states of a Loop that runs zero times."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import may_not_run

__all__ = ["StatesOfALoopThatDoesNotRun"]


class StatesOfALoopThatDoesNotRun(
    Hazard,
    code="OVN202",
    engine="openvino",
    versions=("2021.4.2",),
    title="The states of a Loop that runs zero times",
    effect=Effect.WRONG,
    case="openvino_loop_count_zero",
    passes=("choose_initial_states",),
    fix="irloop convert --target openvino-2021.4",
):
    """The states of a Loop that runs zero times.

    What happens:
        OpenVINO 2021.4 gives zeros instead of the initial values.
    Where:
        A Loop that may run zero times has states that are outputs.
    What irloop does:
        With --target openvino-2021.4, conversion selects the initial states.
    """

    def find(self, node: Node) -> Iterator[str]:
        if may_not_run(node) and node.body().ports.carried:
            yield "the loop may run zero times and has states"
