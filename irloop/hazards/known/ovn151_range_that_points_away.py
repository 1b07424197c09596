"""OVN151: a Range whose step points away from its end."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.generate import Range, Range4
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.ranges import may_point_away

__all__ = ["RangeThatPointsAway"]


class RangeThatPointsAway(
    Hazard,
    code="OVN151",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Range whose step points away from its end",
    effect=Effect.WRONG,
    case="range_that_points_away",
    fix="Replace stop by Maximum(stop, start), or by Minimum(stop, start) if step is negative.",
):
    """A Range whose step points away from its end.

    What happens:
        OpenVINO counts the steps without their sign: a Range from 0 to -3 with step 1 has the
        elements 0, 1 and 2. By the specification it is empty, as in ONNX.
    Where:
        A Range with a start, stop or step that is not constant, unless sizes show that stop does
        not lie before start.
    What irloop does:
        Conversion to IR replaces stop by Maximum(stop, start), or by Minimum(stop, start) for a
        negative step.
    """

    operations = (Range, Range4)

    def find(self, node: Node) -> Iterator[str]:
        if may_point_away(node):
            yield f"the step of {node.name!r} may point away from its end"
