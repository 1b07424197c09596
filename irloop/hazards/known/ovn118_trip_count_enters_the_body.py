"""OVN118: the trip count is mapped into the body."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["TripCountEntersTheBody"]


class TripCountEntersTheBody(
    Hazard,
    code="OVN118",
    engine="openvino",
    versions=("2026.4.1",),
    title="The trip count is mapped into the body",
    effect=Effect.REFUSAL,
    minimal=False,
    case="openvino_loop_count_enters_the_body",
    fix="Map a copy of the trip count.",
):
    """The trip count is mapped into the body.

    What happens:
        Some larger models do not compile, because the plugin expects an i32 for the trip count
        (measured in 2026.4.1). The minimal model compiles in 2026.4.1, and so do Loops that
        concatenate the trip count, add it to a state or compare with it (i32 and i64); their
        results are right.
    Where:
        The port map of a Loop has an entry for input 0.
    What irloop does:
        Conversion to IR gives the body a copy of the trip count.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop):
            return
        if any(port.external == 0 for port in node.body().ports.inputs):
            yield "input 0, the trip count, is mapped to a body parameter"
