"""OVN153: strings that are selected, repeated or replaced."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.strings import MOVING, moved_strings

__all__ = ["StringsMoved"]


class StringsMoved(
    Hazard,
    code="OVN153",
    engine="openvino",
    versions=("2026.4.1",),
    title="Strings that are selected, repeated or replaced",
    effect=Effect.REFUSAL,
    case="openvino_tile_of_strings",
    fix="Move the numbers of the strings instead, and select the strings with Gather.",
):
    """Strings that are selected, repeated or replaced by an operation other than Gather.

    What happens:
        The plugin refuses most of these operations. Slice, StridedSlice, Split, VariadicSplit and
        Broadcast compile, but copy strings as bytes, after which the process dies.
    Where:
        An operation that only moves elements gets strings, such as Slice, Tile, Select or
        ScatterUpdate. Gather, Concat, Transpose, Reshape, Squeeze and Unsqueeze have no such fault.
    What irloop does:
        Conversion to IR numbers the strings, lets the operation move the numbers, and looks up the
        strings with Gather. `transform` does the same for operations that its passes insert.
    """

    operations = MOVING

    def find(self, node: Node) -> Iterator[str]:
        if moved_strings(node):
            yield f"{node.op.type} {node.name!r} moves strings"
