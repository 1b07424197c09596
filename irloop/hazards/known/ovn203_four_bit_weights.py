"""OVN203: weights of 4 bits."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["FourBitWeights"]


class FourBitWeights(
    Hazard,
    code="OVN203",
    engine="openvino",
    versions=("2021.4.2",),
    title="Weights of 4 bits",
    effect=Effect.WRONG,
    case="four_bit_weights",
    passes=("unpack_constants",),
    fix="irloop convert --target openvino-2021.4",
):
    """Weights of 4 bits.

    What happens:
        OpenVINO 2021.4 swaps the two elements that are stored in a byte.
    Where:
        A constant of type u4 or i4.
    What irloop does:
        With --target openvino-2021.4, conversion stores the elements in 8 bits.
    """

    operations = (Constant,)

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, Constant) and str(node.op.tensor.element) in ("u4", "i4"):
            yield f"constant {node.name!r} of type {node.op.tensor.element}"
