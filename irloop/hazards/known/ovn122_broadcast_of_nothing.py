"""OVN122: a Broadcast whose result has no element."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.shape import Broadcast, Broadcast3
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.live_values import has_no_element

__all__ = ["BroadcastOfNothing"]


class BroadcastOfNothing(
    Hazard,
    code="OVN122",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Broadcast whose result has no element",
    effect=Effect.CRASH,
    case="broadcast_of_nothing",
    fix="Replace the Broadcast by a constant of its shape.",
):
    """A Broadcast whose result has no element.

    What happens:
        The process crashes with a division by zero (SIGFPE) while the model is compiled or run.
    Where:
        The result of a Broadcast has a known shape with a dimension of 0.
    What irloop does:
        Conversion to IR stores such values as constants.
    """

    operations = (Broadcast, Broadcast3)

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, Broadcast | Broadcast3) and has_no_element(node.output):
            yield f"the result of {node.name!r} has no element"
