"""OVN146: an Abs of a number that is computed from sizes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Abs
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.sizes import loses_its_sign

__all__ = ["AbsOfSizes"]


class AbsOfSizes(
    Hazard,
    code="OVN146",
    engine="openvino",
    versions=("2026.4.1",),
    title="An Abs of a number that is computed from sizes",
    effect=Effect.WRONG,
    case="openvino_abs_of_sizes",
    fix="Replace Abs(x) by Maximum(x, Negative(x)).",
):
    """An Abs of a number that is computed from sizes.

    What happens:
        OpenVINO removes the Abs, because sizes are not negative. But differences of sizes may be:
        1 - 2 stays -1.
    Where:
        An Abs is computed from ShapeOf and constants alone, such as the distance of two positions
        in a sequence: Range of a size, Subtract, Abs.
    What irloop does:
        Conversion to IR writes Maximum(x, Negative(x)).
    """

    operations = (Abs,)

    def find(self, node: Node) -> Iterator[str]:
        if loses_its_sign(node):
            yield f"{node.name!r} is computed from sizes alone"
