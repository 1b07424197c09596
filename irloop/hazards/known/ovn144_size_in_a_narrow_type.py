"""OVN144: a size that is converted to a narrow type and back."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.sizes import narrows_a_size

__all__ = ["SizeInANarrowType"]


class SizeInANarrowType(
    Hazard,
    code="OVN144",
    engine="openvino",
    versions=("2026.4.1",),
    title="A size that is converted to a narrow type and back",
    effect=Effect.WRONG,
    case="openvino_size_in_a_narrow_type",
    fix="Convert Maximum(n, n), where n is the size.",
):
    """A size that is converted to a narrow type and back.

    What happens:
        OpenVINO treats the result as the size itself: as a boolean, 40 stays 40 instead of becoming
        1; as u8, 300 stays 300 instead of becoming 44.
    Where:
        An element of the result of a ShapeOf, whose value is unknown, is converted to
        boolean or to an integer of 16 bits or fewer, and the result of this conversion is
        converted to a wider type. The result determines the shape, the bounds or the
        repetitions of another operation.
    What irloop does:
        Conversion to IR converts a copy of the size.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if narrows_a_size(node):
            yield f"{node.name!r} narrows a size, and another Convert reads it"
