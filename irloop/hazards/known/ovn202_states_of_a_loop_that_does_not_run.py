"""OVN202: the states of a Loop that runs zero times."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.comparison import Select
from irloop.graph.loops import LastValue
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
    case="openvino_loop_starts_or_not",
    passes=("choose_initial_states",),
    fix="irloop convert --target openvino-2021.4",
):
    """The states of a Loop that runs zero times.

    What happens:
        OpenVINO 2021.4 returns zeros instead of the initial values.
    Where:
        A Loop that may run zero times has states that are outputs.
    What irloop does:
        With --target openvino-2021.4, conversion selects the initial states.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not may_not_run(node):
            return
        ports = node.body().ports
        states = {port.result for port in ports.carried}
        for port in ports.outputs:
            if not isinstance(port, LastValue) or port.result not in states:
                continue
            if any(not isinstance(user.op, Select) for user, _ in node.outputs[port.external].uses):
                yield f"output {port.external} is a state, and the loop may run zero times"
