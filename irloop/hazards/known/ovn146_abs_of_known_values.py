"""OVN146: an Abs of rank 1 that depends on constants and sizes alone."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Abs
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.sizes import leaves_out_abs

__all__ = ["AbsOfKnownValues"]


class AbsOfKnownValues(
    Hazard,
    code="OVN146",
    engine="openvino",
    versions=("2026.4.1",),
    title="An Abs of rank 1 that depends on constants and sizes alone",
    effect=Effect.WRONG,
    case="openvino_abs_of_known_values",
    fix="Compute the Abs with another dimension: Squeeze(Abs(Unsqueeze(x, 0)), 0).",
):
    """An Abs of rank 1 that depends on constants and sizes alone.

    What happens:
        OpenVINO assumes that such values are sizes, which are not negative, and removes the Abs:
        the absolute value of 1 - 2 is -1.
    Where:
        The operand of an Abs is a vector that is computed from ShapeOf and constants, such as the
        distance of two positions in a sequence (Range of a size, Subtract, Abs) or the row of a
        table that Gather reads. An Abs of a Concat is affected, too, if one operand of the Concat
        is computed in this way.
    What irloop does:
        Conversion to IR writes Squeeze(Abs(Unsqueeze(x, 0)), 0).
    """

    operations = (Abs,)

    def find(self, node: Node) -> Iterator[str]:
        if leaves_out_abs(node):
            yield f"{node.name!r} depends on constants and sizes alone"
