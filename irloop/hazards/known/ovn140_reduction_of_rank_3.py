"""OVN140: a reduction of a tensor of rank 3, followed by arithmetic with a constant."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.reduction import Reduction
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import reduced_wrongly

__all__ = ["ReductionOfRank3"]


class ReductionOfRank3(
    Hazard,
    code="OVN140",
    engine="openvino",
    versions=("2026.4.1",),
    title="A reduction of a tensor of rank 3 and arithmetic with a constant",
    effect=Effect.WRONG,
    case="reduction_of_rank_3",
    fix="Reduce a tensor of rank 4: add an axis of size 1 beside the axis, and reduce both.",
):
    """A reduction of a tensor of rank 3 and arithmetic with a constant.

    What happens:
        The plugin computes the arithmetic together with the reduction, and reads elements of the
        constant at wrong positions along axis 1.
    Where:
        A reduction of a tensor of rank 3 along its first or its last axis, followed by elementwise
        operations, of which one reads a constant that differs along axis 1. The Gaussian naive
        Bayes classifier of scikit-learn has this pattern.
    What irloop does:
        Conversion to IR adds an axis of size 1 and reduces both axes.
    """

    operations = (Reduction,)

    def find(self, node: Node) -> Iterator[str]:
        if reduced_wrongly(node) is not None:
            yield f"{node.name!r} reduces one of three axes, and arithmetic with a constant follows"
