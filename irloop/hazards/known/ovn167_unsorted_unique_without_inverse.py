"""OVN167: an unsorted Unique without inverse indices."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.search import Unique
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.uniques import groups_without_inverse

__all__ = ["UnsortedUniqueWithoutInverse"]


class UnsortedUniqueWithoutInverse(
    Hazard,
    code="OVN167",
    engine="openvino",
    versions=("2026.4.1",),
    title="An unsorted Unique whose inverse indices are not used",
    effect=Effect.WRONG,
    case="unsorted_unique_without_inverse",
    fix="Reshape the data to a list, and give the Unique the axis 0.",
):
    """An unsorted Unique whose inverse indices are not used.

    What happens:
        The CPU plugin returns wrong distinct values, first indices and counts: of [0, 2, 0, 1, 1]
        it returns the values [0, 0, 0] and the counts [1, 1, 1].
    Where:
        A Unique without an axis, with sorted=false, of which nothing reads output 2.
    What irloop does:
        Conversion to IR reshapes the data to a list, and writes a Unique along axis 0.
    """

    operations = (Unique,)

    def find(self, node: Node) -> Iterator[str]:
        if groups_without_inverse(node):
            yield f"nothing reads the inverse indices of {node.name!r}"
