"""OVN112: a state whose number of dimensions changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop

__all__ = ["StateChangesRank"]


class StateChangesRank(
    Hazard,
    code="OVN112",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="A state whose number of dimensions changes",
    effect=Effect.REFUSAL,
    case="openvino_loop_state_changes_rank",
    rule="IRL628",
    fix="Reshape the initial value to the rank of the state's next value.",
):
    """A state whose number of dimensions changes.

    What happens:
        The inference ends with an error.
    Where:
        The initial value and the next value of a state have different ranks.
    What irloop does:
        Conversion reports it. If the loop runs exactly once, conversion unrolls it.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        for port in body.ports.carried:
            given, own = node.inputs[port.external], body.graph.input(port.parameter)
            first = None if given is None else shape_of(given).rank
            then = shape_of(body.graph.output(port.result)).rank
            if first is not None and {first} != {shape_of(own).rank, then}:
                yield f"the number of dimensions of state {own.name!r} changes"
