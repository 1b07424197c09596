"""OVN149: a size that is converted to a narrow signed type."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.sizes import narrows_a_size_with_sign

__all__ = ["SizeInASignedType"]


class SizeInASignedType(
    Hazard,
    code="OVN149",
    engine="openvino",
    versions=("2026.4.1",),
    title="A size that is converted to a narrow signed type",
    effect=Effect.REFUSAL,
    case="openvino_size_in_a_signed_type",
    fix="Convert Squeeze(CumSum(Unsqueeze(n, 0), 0), 0), where n is the size.",
):
    """A size that is converted to a narrow signed type.

    What happens:
        OpenVINO converts the upper bound of the size, too: the bound 2^63 - 1 becomes -1, and the
        model is not compiled (Value for partial shape evaluation can't be lower than zero). A Pad
        by such a size gets a wrong output shape.
    Where:
        An element of the result of a ShapeOf, whose value is unknown, is converted to i4,
        i8 or i16. The result determines the output shape of another operation, for example
        Broadcast or Tile.
    What irloop does:
        Conversion to IR inserts a CumSum over this one size before the Convert. The CumSum does not
        change the size, and OpenVINO does not compute the bounds of its result.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if narrows_a_size_with_sign(node):
            yield f"{node.name!r} converts a size to a narrow signed type"
