"""OVN129: a Concat of one value that several operations read."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.slicing import Concat
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ConcatOfOne"]


class ConcatOfOne(
    Hazard,
    code="OVN129",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Concat of one value that several operations read",
    effect=Effect.WRONG,
    case="concat_of_one",
    fix="Let the readers read the input of the Concat.",
):
    """A Concat of one value that several operations read.

    What happens:
        The plugin gives the Concat the memory of its input, and computes one of the readers in that
        memory. The other readers then read the result of that reader.
    Where:
        A Concat has one input, and its output has several readers.
    What irloop does:
        Conversion to IR writes no Concat of one value.
    """

    operations = (Concat,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Concat) or len(node.inputs) != 1:
            return
        readers = node.outputs[0].uses
        if len(readers) > 1:
            yield f"Concat {node.name!r} has one input and {len(readers)} readers"
