"""OVN144: a size that is converted to boolean and to a number again."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.sizes import flags_a_size

__all__ = ["SizeAsABoolean"]


class SizeAsABoolean(
    Hazard,
    code="OVN144",
    engine="openvino",
    versions=("2026.4.1",),
    title="A size that is converted to boolean and to a number again",
    effect=Effect.WRONG,
    case="openvino_size_as_a_boolean",
    fix="Compare the size with 0 by NotEqual instead of converting it to boolean.",
):
    """A size that is converted to boolean and to a number again.

    What happens:
        OpenVINO takes the result for the size itself: 40 stays 40 instead of becoming 1.
    Where:
        An element of a ShapeOf of unknown value is converted to boolean, and the result to a
        number, from which the shape, the bounds or the repetitions of another operation follow.
    What irloop does:
        Conversion to IR compares the size with 0 instead.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if flags_a_size(node):
            yield f"{node.name!r} converts a size to boolean, and another Convert reads it"
