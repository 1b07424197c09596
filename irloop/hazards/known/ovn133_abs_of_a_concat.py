"""OVN133: Abs of a Concat of rank 1 that has another reader."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Abs
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import overwrites_its_concat

__all__ = ["AbsOfAConcat"]


class AbsOfAConcat(
    Hazard,
    code="OVN133",
    engine="openvino",
    versions=("2026.4.1",),
    title="Abs of a Concat of rank 1 that has another reader",
    effect=Effect.WRONG,
    case="abs_of_a_concat",
    fix="Compute the Abs with another dimension: Squeeze(Abs(Unsqueeze(x, 0)), 0).",
):
    """Abs of a Concat of rank 1 that has another reader.

    What happens:
        OpenVINO moves the Abs to the operands of the Concat. All other readers then get absolute
        values, too, and so does the model output if the Concat is one.
    Where:
        An Abs reads the result of a Concat of rank 1 that something else reads, too. Among the
        elementwise operations, the fault was found with Abs only.
    What irloop does:
        Conversion to IR writes Squeeze(Abs(Unsqueeze(x, 0)), 0).
    """

    operations = (Abs,)

    def find(self, node: Node) -> Iterator[str]:
        if overwrites_its_concat(node):
            yield f"Abs {node.name!r} changes a Concat that something else reads, too"
