"""OVN205: a Select of more than five dimensions."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.comparison import Select
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import selects_many_dimensions

__all__ = ["SelectOfManyDimensions"]


class SelectOfManyDimensions(
    Hazard,
    code="OVN205",
    engine="openvino",
    versions=("2021.4.2",),
    title="A Select of more than five dimensions",
    effect=Effect.CRASH,
    case="select_of_many_dimensions",
    fix="irloop convert --target openvino-2021.4",
):
    """A Select of more than five dimensions.

    What happens:
        The CPU plugin of OpenVINO 2021.4 crashes the process when it runs the model.
    Where:
        A Select whose output has six dimensions or more.
    What irloop does:
        With --target openvino-2021.4, conversion flattens the operands of the Select to one
        dimension.
    """

    operations = (Select,)

    def find(self, node: Node) -> Iterator[str]:
        if selects_many_dimensions(node):
            yield f"Select {node.name!r} has more than five dimensions"
