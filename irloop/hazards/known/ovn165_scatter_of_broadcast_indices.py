"""OVN165: a ScatterElementsUpdate whose indices are broadcast."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.scatter import ScatterElementsUpdate
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.scatters import scatters_by_a_broadcast

__all__ = ["ScatterOfBroadcastIndices"]


class ScatterOfBroadcastIndices(
    Hazard,
    code="OVN165",
    engine="openvino",
    versions=("2026.4.1",),
    title="A ScatterElementsUpdate whose indices are broadcast",
    effect=Effect.REFUSAL,
    case="scatter_of_broadcast_indices",
    fix="Put a Maximum of the indices with themselves in front of the ScatterElementsUpdate.",
):
    """A ScatterElementsUpdate whose indices are broadcast.

    What happens:
        OpenVINO replaces the operation by a ScatterUpdate with the indices before the Broadcast,
        which are too few for the updates. It refuses the model: do not have matched tensor shape
        relationship, or: updates rank is expected to be another one.
    Where:
        The indices of a ScatterElementsUpdate of opset3 are the output of a Broadcast of one index,
        the size of this output along the axis is not known, and its other sizes are.
    What irloop does:
        Conversion to IR copies the indices. It does so for every Broadcast whose size along the
        axis is not known.
    """

    operations = (ScatterElementsUpdate,)

    def find(self, node: Node) -> Iterator[str]:
        if scatters_by_a_broadcast(node):
            yield f"the indices of {node.name!r} are broadcast"
