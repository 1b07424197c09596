"""OVN108: a joined value whose shape changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Concatenated
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import changing_states, is_loop, shape_comes_from

__all__ = ["JoinedValueChangesShape"]


class JoinedValueChangesShape(
    Hazard,
    code="OVN108",
    engine="openvino",
    versions=("2026.4.1",),
    title="A joined value whose shape changes",
    effect=Effect.WRONG,
    minimal=False,
    case="openvino_loop_joins_a_growing_value",
    rule="IRL612",
    fix="Join values of one shape.",
):
    """A joined value whose shape changes.

    What happens:
        OpenVINO 2026.4.1 refuses the inference if the first size of the value is known, or if the
        value is joined along the axis that grows, as in the minimal model. If the values are joined
        along a new axis and their size is not known, the output contains uninitialised memory.
    Where:
        The concatenated value changes its size from one iteration to the next.
    What irloop does:
        Conversion reports it.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        states = changing_states(node)
        for port in body.ports.outputs:
            if not isinstance(port, Concatenated):
                continue
            if shape_comes_from(body.graph.output(port.result), states):
                yield f"output {port.external} joins values whose size changes"
